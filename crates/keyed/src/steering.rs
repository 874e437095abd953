use std::sync::{Arc, PoisonError};

use tidegate_core::{Keyable, Snapshot, Steer};

use crate::Settings;
use crate::entry::Entry;
use crate::table::Table;

/// Settings, and how layers whose handle can be steered take them.
pub(crate) struct Loaded<L> {
    pub(crate) settings: Arc<Settings>,
    prepare: fn(&L, &Settings, &str),
    follow: fn(&Table<L>, &Entry<L>, &Settings, &Settings),
}

impl<L: Keyable<Handle: Steer>> Loaded<L> {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            prepare,
            follow,
        }
    }
}

impl<L> Loaded<L> {
    /// A layer that nobody has used yet.
    pub(crate) fn prepare(&self, layer: &L, key: &str) {
        (self.prepare)(layer, &self.settings, key);
    }

    /// A layer that is in use, with the settings that it had.
    pub(crate) fn follow(&self, table: &Table<L>, entry: &Entry<L>, before: Option<&Self>) {
        let none = Settings::new();
        let before = before.map_or(&none, |before| &before.settings);
        (self.follow)(table, entry, before, &self.settings);
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
    }
}

impl<L> Clone for Loaded<L> {
    fn clone(&self) -> Self {
        Self {
            settings: Arc::clone(&self.settings),
            ..*self
        }
    }
}

impl<L> Table<L> {
    pub(crate) fn loaded(&self) -> Option<Loaded<L>> {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner);
        loaded.clone()
    }
}

impl<L: Keyable<Handle: Steer>> Table<L> {
    /// Other settings, for all keys that are kept and all that come.
    pub(crate) fn load(&self, change: impl FnOnce(&Settings) -> Settings) {
        let _alone = self.reload.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.loaded();
        let none = Settings::new();
        let known = before.as_ref().map_or(&none, |before| &before.settings);
        let settings = change(known).with_keys(|key| self.normal(key));
        let loaded = Loaded::new(settings);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Some(loaded.clone());
        self.for_each(|entry| loaded.follow(self, entry, before.as_ref()));
    }
}

/// Its bucket is full at the new burst too, rather than holding what the old one had.
fn prepare<L: Keyable<Handle: Steer>>(layer: &L, settings: &Settings, key: &str) {
    let (handle, settings) = (layer.handle(), settings.of(key));
    settings
        .limit
        .into_iter()
        .for_each(|limit| handle.set_limit(limit));
    if settings.pace.is_some() {
        handle.set_pace(None);
        handle.set_pace(settings.pace);
    }
}

/// What is the same as before stays where it is: a law may have moved it since.
fn follow<L: Keyable<Handle: Steer>>(
    table: &Table<L>,
    entry: &Entry<L>,
    before: &Settings,
    settings: &Settings,
) {
    let (before, settings) = (before.of(&entry.key), settings.of(&entry.key));
    if before == settings {
        return;
    }
    let handle = entry.layer.handle();
    // What is no longer set is as a layer that is made now has it.
    let new = || -> Snapshot { table.make(&entry.key).handle().snapshot() };
    if before.limit != settings.limit {
        handle.set_limit(settings.limit.unwrap_or_else(|| new().limit));
    }
    if before.pace != settings.pace {
        handle.set_pace(settings.pace.or_else(|| new().pace));
    }
}
