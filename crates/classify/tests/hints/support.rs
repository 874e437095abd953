use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_classify::{Hints, Profile};

/// When responses are received, in seconds since the epoch: Tue, 14 Nov 2023 22:13:20 GMT.
pub(crate) const NOW: u64 = 1_700_000_000;

pub(crate) fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// `Name: value` a line; blanks around a value are kept, except the first.
pub(crate) fn headers(lines: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        headers.append(
            HeaderName::from_bytes(name.trim().as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    headers
}

pub(crate) fn parse(profile: Profile, lines: &str) -> Hints {
    Hints::parse(&headers(lines), at(NOW), profile)
}

#[expect(clippy::unnecessary_wraps, reason = "as a wait is, for short tables")]
pub(crate) fn secs(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

#[expect(clippy::unnecessary_wraps, reason = "as a wait is, for short tables")]
pub(crate) fn millis(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

#[expect(clippy::disallowed_methods, reason = "an origin for a test")]
pub(crate) fn origin() -> Instant {
    Instant::now()
}

/// Each row: what is sent, when it is received, and how long to wait.
pub(crate) fn table(profile: Profile, rows: &[(&str, u64, Option<Duration>)]) {
    for (lines, received_at, wait) in rows {
        let hints = Hints::parse(&headers(lines), at(*received_at), profile);
        assert_eq!(
            hints.wait(),
            *wait,
            "{profile:?}: {lines:?} at {received_at}"
        );
    }
}
