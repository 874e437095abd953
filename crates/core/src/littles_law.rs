use std::num::NonZeroUsize;
use std::time::Duration;

/// The product of two decimals may land a hair above the whole number that is meant.
const HAIR: f64 = 1e-9;

/// How many requests are in flight at `rate_per_second` when each takes `latency`.
///
/// ```text
/// L = λ · W
/// ```
///
/// Rounded up, and at least 1. Source: J. D. C. Little, "A Proof for the Queuing Formula L = λW",
/// Operations Research 9 (1961).
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::littles_law;
///
/// assert_eq!(littles_law(2_000.0, Duration::from_millis(50)).get(), 100);
/// ```
///
/// # Panics
///
/// If `rate_per_second` is not a finite number above zero.
#[track_caller]
pub fn littles_law(rate_per_second: f64, latency: Duration) -> NonZeroUsize {
    assert!(
        rate_per_second.is_finite() && rate_per_second > 0.0,
        "a rate is a finite number of requests per second above zero, not {rate_per_second}"
    );
    let in_flight = rate_per_second * latency.as_secs_f64();
    NonZeroUsize::new((in_flight * (1.0 - HAIR)).ceil() as usize).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_thousand_a_second_at_fifty_milliseconds_are_a_hundred() {
        assert_eq!(littles_law(2_000.0, Duration::from_millis(50)).get(), 100);
    }

    #[test]
    fn a_part_of_a_request_counts_as_one() {
        assert_eq!(littles_law(10.0, Duration::from_millis(1)).get(), 1);
        assert_eq!(littles_law(10.0, Duration::from_millis(101)).get(), 2);
        assert_eq!(littles_law(10.0, Duration::ZERO).get(), 1);
        assert_eq!(littles_law(1e300, Duration::MAX).get(), usize::MAX);
    }

    #[test]
    #[should_panic(expected = "a rate is a finite number")]
    fn a_rate_that_is_no_number_is_refused() {
        littles_law(f64::NAN, Duration::from_millis(1));
    }
}
