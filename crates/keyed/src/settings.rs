use std::collections::BTreeMap;
use std::fmt;

use tidegate_core::{Pace, text};

/// Limits and paces: for all keys, and for single ones.
///
/// Rather than of the layers, they are of the [set](crate::KeyedHandle::load): a key that was
/// forgotten and comes back has them again.
///
/// ```
/// use tidegate_core::per_second;
/// use tidegate_keyed::{KeySettings, Settings};
///
/// let settings = Settings::new()
///     .for_all(KeySettings::new().limit(4).pace(per_second(1.0)))
///     .key("slow.example", KeySettings::new().limit(1));
/// assert_eq!(settings.of("slow.example").limit, Some(1));
/// assert_eq!(settings.of("slow.example").pace, Some(per_second(1.0)));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Settings {
    default: KeySettings,
    keys: BTreeMap<String, KeySettings>,
}

/// What is set for a key; what is not is as its layer was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KeySettings {
    /// How many may be in flight; 0 is taken as 1. Where a law moves the limit, it goes on from there.
    pub limit: Option<usize>,
    /// How many may start per second.
    pub pace: Option<Pace>,
}

impl Settings {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// For all keys, also those to come.
    #[must_use]
    pub fn for_all(self, default: KeySettings) -> Self {
        Self { default, ..self }
    }

    /// For one key: what it sets counts, and where it sets nothing what holds for all.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>, settings: KeySettings) -> Self {
        self.insert(key.into(), settings);
        self
    }

    pub(crate) fn insert(&mut self, key: String, settings: KeySettings) {
        self.keys.insert(key, settings);
    }

    /// What holds for that key.
    pub fn of(&self, key: &str) -> KeySettings {
        let own = self.keys.get(key).copied().unwrap_or_default();
        KeySettings {
            limit: own.limit.or(self.default.limit),
            pace: own.pace.or(self.default.pace),
        }
    }

    /// The same, with keys as requests have them.
    pub(crate) fn with_keys(self, normal: impl Fn(&str) -> String) -> Self {
        let keys = self.keys.into_iter();
        Self {
            keys: keys.map(|(key, own)| (normal(&key), own)).collect(),
            ..self
        }
    }
}

impl KeySettings {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`limit`](Self::limit).
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    /// See [`pace`](Self::pace).
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        Self {
            pace: Some(pace),
            ..self
        }
    }
}

/// Of a key what may be shown.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.keys.iter();
        let keys: Vec<_> = keys.map(|(key, own)| (text::name(key), own)).collect();
        f.debug_struct("Settings")
            .field("default", &self.default)
            .field("keys", &keys)
            .finish()
    }
}
