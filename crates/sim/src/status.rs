use tidegate_core::{Cause, Outcome};

/// What an HTTP status says about the service.
pub(crate) fn outcome(status: u16) -> Outcome {
    match status {
        429 => Outcome::Overload(Cause::Throttled),
        502 | 503 | 529 => Outcome::Overload(Cause::Unavailable),
        408 | 504 => Outcome::Overload(Cause::TimedOut),
        500.. => Outcome::Failure,
        _ => Outcome::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_503_is_an_overload_and_a_500_a_failure() {
        assert_eq!(outcome(503), Outcome::Overload(Cause::Unavailable));
        assert_eq!(outcome(429), Outcome::Overload(Cause::Throttled));
        assert_eq!(outcome(500), Outcome::Failure);
        assert_eq!(outcome(404), Outcome::Ignored);
    }
}
