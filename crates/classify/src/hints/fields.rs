use std::cell::{Cell, OnceCell};
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::DATE;

use super::{Quota, value};

/// The headers of one response, and when it was received.
pub(super) struct Fields<'h> {
    pub(super) headers: &'h HeaderMap,
    received_at: SystemTime,
    now: OnceCell<Duration>,
    ignored: Cell<usize>,
}

impl<'h> Fields<'h> {
    pub(super) fn new(headers: &'h HeaderMap, received_at: SystemTime) -> Self {
        Self {
            headers,
            received_at,
            now: OnceCell::new(),
            ignored: Cell::new(0),
        }
    }

    /// The time of the server's clock since the epoch.
    pub(super) fn now(&self) -> Duration {
        *self
            .now
            .get_or_init(|| server_time(self.headers, || self.received_at))
    }

    /// From now until a moment since the epoch; zero if that is past.
    pub(super) fn until(&self, at: Duration) -> Duration {
        at.saturating_sub(self.now())
    }

    /// The first value of a field, if `read` understands it; counted as ignored if not.
    pub(super) fn read<T>(&self, name: &str, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let value = self.headers.get(name)?;
        self.understood(read(value.as_bytes()))
    }

    /// Counts what is not understood.
    pub(super) fn understood<T>(&self, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.ignore();
        }
        value
    }

    /// Counts a field that was not understood.
    pub(super) fn ignore(&self) {
        self.ignored.set(self.ignored.get() + 1);
    }

    /// How many fields were not understood.
    pub(super) fn ignored(&self) -> usize {
        self.ignored.get()
    }

    /// The text of a field that names something.
    pub(super) fn text(&self, name: &str) -> Option<&'h str> {
        let text = self.headers.get(name)?.to_str().ok()?.trim_ascii();
        (!text.is_empty()).then_some(text)
    }

    /// The fields whose names start so: the rest of the name, and the first value.
    pub(super) fn starting_with(
        &self,
        prefix: &'static str,
    ) -> impl Iterator<Item = (&'h str, &'h [u8])> {
        let headers = self.headers;
        headers.keys().filter_map(move |name| {
            let rest = name.as_str().strip_prefix(prefix)?;
            Some((rest, headers.get(name)?.as_bytes()))
        })
    }

    /// A quota in three fields, `[limit, remaining, reset]`; `None` if none of them is there.
    pub(super) fn quota(
        &self,
        [limit, remaining, reset]: [&str; 3],
        read_reset: impl FnOnce(&[u8]) -> Option<Duration>,
    ) -> Option<Quota> {
        let quota = Quota {
            limit: self.read(limit, value::count),
            remaining: self.read(remaining, value::count),
            reset: self.read(reset, read_reset),
            ..Quota::default()
        };
        quota.says_something().then_some(quota)
    }
}

/// A response's own `Date`, or else when it was received, since the epoch.
///
/// Servers cut their `Date` to whole seconds, so a wait counted from it ends up to a second late and
/// never early.
pub(super) fn server_time(
    headers: &HeaderMap,
    received_at: impl FnOnce() -> SystemTime,
) -> Duration {
    headers
        .get(DATE)
        .and_then(|date| value::http_date(date.as_bytes()))
        .unwrap_or_else(|| value::since_epoch(received_at()))
}
