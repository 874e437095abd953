use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue};

/// How long the headers ask us to stay away.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = digits(headers.get(RETRY_AFTER)?)?;
    Some(Duration::from_secs(seconds))
}

/// A whole number; one too large for 64 bits is the largest.
pub(crate) fn digits(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?.trim();
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_number_is_one_and_a_long_one_saturates() {
        let long = "9".repeat(400);
        for (text, expected) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            (&*long, Some(u64::MAX)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            let value = HeaderValue::from_str(text).unwrap();
            assert_eq!(digits(&value), expected, "{text:?}");
        }
    }
}
