use http::StatusCode;
use tidegate_core::{Cause, Outcome};

/// What a status says where no rule says otherwise. The table is that of
/// [`HttpClassifier`](crate::HttpClassifier).
///
/// A status outside of `100..=599` counts as one of the server's errors (RFC 9110 §15).
pub(crate) fn outcome(status: StatusCode) -> Outcome {
    match status.as_u16() {
        100..=399 => Outcome::Success,
        429 => Outcome::Overload(Cause::Throttled),
        502 | 503 | 529 => Outcome::Overload(Cause::Unavailable),
        408 | 504 => Outcome::Overload(Cause::TimedOut),
        400..=499 => Outcome::Ignored,
        _ => Outcome::Failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_the_outcome_that_the_docs_say() {
        for status in 100..=999 {
            let expected = match status {
                429 => Outcome::Overload(Cause::Throttled),
                502 | 503 | 529 => Outcome::Overload(Cause::Unavailable),
                408 | 504 => Outcome::Overload(Cause::TimedOut),
                _ if status < 400 => Outcome::Success,
                _ if status < 500 => Outcome::Ignored,
                _ => Outcome::Failure,
            };
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(outcome(status), expected, "{status}");
        }
    }
}
