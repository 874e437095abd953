//! Settings from a file.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

use serde::Deserialize;
use tidegate_core::Pace;
use tidegate_core::text::name;
use toml::Spanned;
use toml::de::DeTable;

use crate::{KeySettings, KeyedHandle, Settings};

/// A file of settings that cannot be read, or says what makes no sense.
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1 on, if it could be read.
    pub line: Option<usize>,
    /// The key whose settings are meant; `None` for the default, and outside of both.
    pub key: Option<String>,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Unreadable(io::Error),
    Invalid(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    default: Section,
    #[serde(default)]
    keys: BTreeMap<Spanned<String>, Section>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Section {
    limit: Option<Spanned<usize>>,
    per_second: Option<Spanned<f64>>,
    per_minute: Option<Spanned<f64>>,
    per_hour: Option<Spanned<f64>>,
    burst: Option<Spanned<u32>>,
}

/// What is wrong, and where in the text.
struct Invalid(Range<usize>, String);

impl<L> KeyedHandle<L> {
    /// The settings of a TOML file, to be [loaded](Self::load). Needs the feature `serde`.
    ///
    /// A key is written as requests have it: a host with its port, unless that is the scheme's own. One
    /// that no request has is no error, and changes nothing.
    ///
    /// ```toml
    /// [default]
    /// limit = 4
    /// per_second = 1.0        # or per_minute, per_hour
    /// burst = 2               # default 1
    ///
    /// [keys."slow.example"]   # what it does not set is as in the default
    /// limit = 1
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no TOML, names what there is not, names one key in two spellings, or sets
    /// a number out of its range: a limit or a burst of 0, a pace that is not finite or not above 0, two
    /// paces at once, a burst without a pace beside it. The error names file, line and key.
    pub fn read_settings(&self, file: impl AsRef<Path>) -> Result<Settings, ConfigError> {
        let file = file.as_ref();
        let text = fs::read_to_string(file).map_err(|error| ConfigError {
            file: file.to_owned(),
            line: None,
            key: None,
            why: Why::Unreadable(error),
        })?;
        self.parse_settings(file, &text)
    }

    /// The settings of the text of a file.
    ///
    /// # Errors
    ///
    /// As [`read_settings`](Self::read_settings).
    pub fn parse_settings(
        &self,
        file: impl AsRef<Path>,
        text: &str,
    ) -> Result<Settings, ConfigError> {
        parse(text, |key| self.normal(key)).map_err(|Invalid(span, what)| ConfigError {
            file: file.as_ref().to_owned(),
            line: Some(line(text, span.start)),
            key: key_at(text, span.start),
            why: Why::Invalid(what),
        })
    }
}

fn parse(text: &str, normal: impl Fn(&str) -> String) -> Result<Settings, Invalid> {
    let whole = 0..text.len();
    let parsed: File = toml::from_str(text)
        .map_err(|error| Invalid(error.span().unwrap_or(whole), error.message().to_owned()))?;
    let mut settings = Settings::new().for_all(parsed.default.check()?);
    let mut keys: Vec<_> = parsed.keys.into_iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    let mut known: HashMap<String, Spanned<String>> = HashMap::new();
    for (key, section) in keys {
        let own = section.check()?;
        settings = settings.key(key.get_ref(), own);
        match known.entry(normal(key.get_ref())) {
            Entry::Vacant(new) => drop(new.insert(key)),
            Entry::Occupied(other) => return Err(twice(text, other.get(), &key)),
        }
    }
    Ok(settings)
}

/// One key in two spellings, of which only one would count.
fn twice(text: &str, first: &Spanned<String>, second: &Spanned<String>) -> Invalid {
    let line = line(text, first.span().start);
    let first = name(first.get_ref());
    let what = format!("is the same key as {first:?} in line {line}");
    Invalid(second.span(), what)
}

/// From 1 on.
fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

impl Section {
    fn check(&self) -> Result<KeySettings, Invalid> {
        let mut settings = KeySettings::new();
        if let Some(limit) = &self.limit {
            at_least_one("limit", limit, *limit.get_ref() == 0)?;
            settings = settings.limit(*limit.get_ref());
        }
        if let Some(burst) = &self.burst {
            at_least_one("burst", burst, *burst.get_ref() == 0)?;
        }
        if let Some(pace) = self.pace()? {
            let burst = self.burst.as_ref().map_or(1, |burst| *burst.get_ref());
            settings = settings.pace(pace.burst(burst));
        } else if let Some(burst) = &self.burst {
            let what = "a burst needs `per_second`, `per_minute` or `per_hour` beside it";
            return Err(Invalid(burst.span(), what.to_owned()));
        }
        Ok(settings)
    }

    fn pace(&self) -> Result<Option<Pace>, Invalid> {
        let units = [
            (&self.per_second, 1),
            (&self.per_minute, 60),
            (&self.per_hour, 3600),
        ];
        let mut pace = None;
        for (count, seconds) in units {
            let Some(count) = count else { continue };
            let invalid = |what| Invalid(count.span(), what);
            if pace.is_some() {
                return Err(invalid("there is a pace already".to_owned()));
            }
            let new = Pace::try_per(*count.get_ref(), Duration::from_secs(seconds));
            pace = Some(new.map_err(|error| invalid(error.to_string()))?);
        }
        Ok(pace)
    }
}

fn at_least_one<T>(name: &str, value: &Spanned<T>, is_zero: bool) -> Result<(), Invalid> {
    if is_zero {
        return Err(Invalid(value.span(), format!("a {name} is at least 1")));
    }
    Ok(())
}

/// The key whose settings stand there: the last one that is named before.
fn key_at(text: &str, at: usize) -> Option<String> {
    let (table, _) = DeTable::parse_recoverable(text);
    let sections = table.get_ref().iter().flat_map(|(name, value)| {
        let keys = (name.get_ref() == "keys")
            .then(|| value.get_ref().as_table())
            .flatten();
        let named = keys.into_iter().flatten().map(|(key, _)| {
            let name = Some(key.get_ref().to_string());
            (key.span().start, name)
        });
        [(name.span().start, None)].into_iter().chain(named)
    });
    sections
        .filter(|(start, _)| *start <= at)
        .max_by_key(|(start, key)| (*start, key.is_some()))
        .and_then(|(_, key)| key)
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": keys.{:?}", name(key))?;
        }
        match &self.why {
            Why::Unreadable(error) => write!(f, ": {error}"),
            Why::Invalid(what) => write!(f, ": {what}"),
        }
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigError")
            .field("file", &self.file)
            .field("line", &self.line)
            .field("key", &self.key.as_deref().map(name))
            .field("why", &self.why)
            .finish()
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.why {
            Why::Unreadable(error) => error.source(),
            Why::Invalid(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{per_minute, per_second};

    use super::*;
    use crate::KeyedLayer;

    fn parse(text: &str) -> Result<Settings, ConfigError> {
        let handle = KeyedLayer::per_host(|_| ()).handle();
        handle.parse_settings("limits.toml", text)
    }

    #[test]
    fn a_key_overrides_the_default_where_it_sets_something() {
        let text = "
            default = { limit = 4, per_second = 1.5, burst = 2 }
            [keys.\"slow.example\"]
            limit = 1
            [keys.\"quota.example:8080\"]
            per_minute = 30
        ";
        let settings = parse(text).unwrap();
        let default = KeySettings::new().limit(4).pace(per_second(1.5).burst(2));
        assert_eq!(settings.of("any.example"), default);
        assert_eq!(settings.of("slow.example"), default.limit(1));
        let quota = default.pace(per_minute(30.0));
        assert_eq!(settings.of("quota.example:8080"), quota);
        assert_eq!(parse("").unwrap(), Settings::new());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_file_line_and_key() {
        let head =
            "[default]\nlimit = 2\n\n[keys.\"a.example\"]\nlimit = 3\n[keys.\"b.example\"]\n";
        let pace = "a pace is a finite number of requests above zero";
        for (line, what) in [
            ("limit = 0", "a limit is at least 1"),
            ("limit = -1", "integer `-1`"),
            ("limit = \"many\"", "string \"many\""),
            ("limits = 1", "unknown field `limits`"),
            ("per_second = 0", pace),
            ("per_hour = inf", pace),
            ("per_minute = 1\nburst = 0", "a burst is at least 1"),
            ("burst = 3", "a burst needs"),
            ("per_second = 1\nper_minute = 9", "there is a pace already"),
            ("limit = 1\nlimit = 2", "duplicate key"),
            ("limit ==", ""),
        ] {
            let error =
                parse(&format!("{head}{line}\n[keys.\"c.example\"]\nlimit = 9\n")).unwrap_err();
            let said = error.to_string();
            let number = 6 + line.lines().count();
            let start = format!("limits.toml:{number}: keys.\"b.example\": ");
            assert!(said.starts_with(&start) && said.contains(what), "{said}");
        }
    }

    #[test]
    fn outside_of_the_keys_there_is_no_key_to_name() {
        for (text, said) in [
            (
                "[default]\nlimit = 0",
                "limits.toml:2: a limit is at least 1",
            ),
            ("[defaults]", "limits.toml:1: unknown field `defaults`"),
            ("keys = 3", "limits.toml:1: invalid type: integer `3`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.key, None);
            assert!(error.to_string().starts_with(said), "{error}");
        }
        let handle = KeyedLayer::per_host(|_| ()).handle();
        let error = handle.read_settings("no/such/file.toml").unwrap_err();
        assert!(
            error.to_string().starts_with("no/such/file.toml: "),
            "{error}"
        );
        assert_eq!(error.line, None);
    }

    #[test]
    fn two_spellings_of_one_host_are_refused_with_both_and_their_lines() {
        for (first, second) in [
            ("slow.example", "SLOW.Example"),
            ("Slow.Example", "slow.example."),
            ("https://slow.example/v1", "slow.example:"),
            ("[::1]", "0::1"),
        ] {
            let text = format!(
                "[keys]\n\"a.example\" = {{ limit = 1 }}\n\"{first}\" = {{ limit = 1 }}\n\n\"{second}\" = {{ limit = 1 }}\n"
            );
            let error = parse(&text).unwrap_err();
            let said =
                format!("limits.toml:5: keys.{second:?}: is the same key as {first:?} in line 3");
            assert_eq!(error.to_string(), said);
            assert_eq!((error.line, error.key.as_deref()), (Some(5), Some(second)));
        }
    }

    #[test]
    fn what_is_written_in_two_ways_is_two_keys_where_keys_are_no_hosts() {
        let text = "[keys.Ann]\nlimit = 1\n[keys.ann]\nlimit = 2\n[keys.'h/a']\n[keys.'h/b']\n";
        let tenant = |request: &String| request.clone();
        let handle = KeyedLayer::new(tenant, |_| ()).handle();
        let settings = handle.parse_settings("limits.toml", text).unwrap();
        let limits = ["Ann", "ann"].map(|key| settings.of(key).limit);
        assert_eq!(limits, [Some(1), Some(2)]);
        let said = parse(text).unwrap_err().to_string();
        assert_eq!(
            said,
            "limits.toml:3: keys.\"ann\": is the same key as \"Ann\" in line 1"
        );
    }

    #[test]
    fn an_error_tells_no_password_of_a_key() {
        let long = "x".repeat(1_000_000);
        for (key, said) in [
            ("https://me:secret@a.example/?secret", "https://a.example/"),
            (&*long, &*format!("{}…", &long[..99])),
        ] {
            let error = parse(&format!("[keys.\"{key}\"]\nlimit = 0")).unwrap_err();
            let said = format!("limits.toml:2: keys.{said:?}: a limit is at least 1");
            assert_eq!(error.to_string(), said);
            assert_eq!(error.key.as_deref(), Some(key));
            let debug = format!("{error:?}");
            assert!(debug.len() < 500 && !debug.contains("secret"), "{debug}");
        }
    }
}
