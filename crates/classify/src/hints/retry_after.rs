use std::cell::LazyCell;
use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::RETRY_AFTER;

use super::fields::{Fields, server_time};
use super::value;

/// How long the `Retry-After` field of a response asks us to stay away (RFC 9110 §10.2.3), whatever its
/// status.
///
/// `None` also for zero or a date that is past: those ask for nothing beyond our own back-off. A date
/// counts from the response's own `Date`; only if there is none is `received_at` called.
pub fn retry_after(
    headers: &HeaderMap,
    received_at: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let mut values = headers.get_all(RETRY_AFTER).iter().peekable();
    values.peek()?;
    let now = LazyCell::new(|| server_time(headers, received_at));
    values
        .filter_map(|value| delay(value.as_bytes(), || *now))
        .max()
        .filter(|wait| !wait.is_zero())
}

/// The longest wait that a `Retry-After` field asks for; zero if it only asks for none.
pub(super) fn read(fields: &Fields<'_>) -> Option<Duration> {
    let values = fields.headers.get_all(RETRY_AFTER).iter();
    values
        .filter_map(|value| fields.understood(delay(value.as_bytes(), || fields.now())))
        .max()
}

/// The first of these fields that asks for a wait; zero if they only ask for none.
pub(super) fn first(waits: impl IntoIterator<Item = Option<Duration>>) -> Option<Duration> {
    let mut asked = None;
    for wait in waits.into_iter().flatten() {
        if !wait.is_zero() {
            return Some(wait);
        }
        asked = Some(wait);
    }
    asked
}

fn delay(bytes: &[u8], now: impl FnOnce() -> Duration) -> Option<Duration> {
    value::seconds(bytes).or_else(|| value::http_date(bytes).map(|date| date.saturating_sub(now())))
}
