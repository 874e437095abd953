//! What the bytes of a header can mean. Leading and trailing blanks do not count; nothing else is
//! forgiven, so that free text is never half a number.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// A count, rounded down: half a request cannot be sent. Saturates.
pub(super) fn count(bytes: &[u8]) -> Option<u64> {
    let (whole, _) = decimal(bytes.trim_ascii())?;
    Some(u64::try_from(integer(whole)).unwrap_or(u64::MAX))
}

/// Seconds, with or without a fraction.
pub(super) fn seconds(bytes: &[u8]) -> Option<Duration> {
    duration(bytes.trim_ascii(), NANOS_PER_SECOND)
}

/// Milliseconds, with or without a fraction.
pub(super) fn millis(bytes: &[u8]) -> Option<Duration> {
    duration(bytes.trim_ascii(), NANOS_PER_MILLI)
}

/// A duration as Go prints it: `1s`, `6m0s`, `12ms`, `1h2m3.5s`.
pub(super) fn go_duration(bytes: &[u8]) -> Option<Duration> {
    let mut rest = bytes.trim_ascii();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.iter().take_while(|byte| is_numeric(**byte)).count();
        let (amount, tail) = rest.split_at(number);
        let unit = tail.iter().take_while(|byte| !is_numeric(**byte)).count();
        let (unit, tail) = tail.split_at(unit);
        total = total.saturating_add(duration(amount, go_unit(unit)?)?);
        rest = tail;
    }
    (!bytes.trim_ascii().is_empty()).then_some(total)
}

fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

/// In nanoseconds.
fn go_unit(unit: &[u8]) -> Option<u64> {
    Some(match unit {
        b"ns" => 1,
        // Go writes U+00B5; U+03BC looks the same.
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => 1_000,
        b"ms" => NANOS_PER_MILLI,
        b"s" => NANOS_PER_SECOND,
        b"m" => 60 * NANOS_PER_SECOND,
        b"h" => 3_600 * NANOS_PER_SECOND,
        _ => return None,
    })
}

/// Since the epoch: an HTTP-date in one of the three forms of RFC 9110 §5.6.7.
pub(super) fn http_date(bytes: &[u8]) -> Option<Duration> {
    let text = str::from_utf8(bytes.trim_ascii()).ok()?;
    httpdate::parse_http_date(text).ok().map(since_epoch)
}

/// Since the epoch: a timestamp of RFC 3339.
pub(super) fn rfc_3339(bytes: &[u8]) -> Option<Duration> {
    let text = str::from_utf8(bytes.trim_ascii()).ok()?;
    let at: Timestamp = text.parse().ok()?;
    Some(at.as_duration().try_into().unwrap_or_default())
}

/// A time before the epoch is the epoch.
pub(super) fn since_epoch(at: SystemTime) -> Duration {
    at.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// `bytes` units of so many nanoseconds, rounded up to a nanosecond. Saturates.
fn duration(bytes: &[u8], unit: u64) -> Option<Duration> {
    let (whole, fraction) = decimal(bytes)?;
    let unit = u128::from(unit);
    let fraction = billionths(fraction) * unit;
    let nanos = integer(whole)
        .saturating_mul(unit)
        .saturating_add(fraction.div_ceil(u128::from(NANOS_PER_SECOND)));
    let second = u128::from(NANOS_PER_SECOND);
    Some(match u64::try_from(nanos / second) {
        Ok(seconds) => Duration::new(seconds, (nanos % second) as u32),
        Err(_) => Duration::MAX,
    })
}

/// The digits before and after the point: `12`, `12.5`.
fn decimal(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let point = bytes.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&bytes[..point], &bytes[point + 1..]),
        None => (bytes, &b"0"[..]),
    };
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    (digits(whole) && digits(fraction)).then_some((whole, fraction))
}

fn integer(digits: &[u8]) -> u128 {
    digits.iter().fold(0, |sum: u128, digit| {
        sum.saturating_mul(10)
            .saturating_add(u128::from(digit - b'0'))
    })
}

/// Digits after a point as 10⁻⁹, rounded up.
fn billionths(digits: &[u8]) -> u128 {
    let (kept, cut) = digits.split_at(digits.len().min(9));
    let missing = 9 - kept.len() as u32;
    let more = cut.iter().any(|digit| *digit != b'0');
    integer(kept) * 10_u128.pow(missing) + u128::from(more)
}
