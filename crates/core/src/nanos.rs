use std::time::Duration;

/// In whole nanoseconds; what 64 bits do not hold (584 years) is [`u64::MAX`].
///
/// [`Duration::as_nanos`] multiplies in 128 bits, which costs more on the path of every request.
#[inline]
pub fn saturating_nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_in_nanoseconds_is_exact_until_it_saturates() {
        assert_eq!(saturating_nanos(Duration::new(3, 7)), 3_000_000_007);
        assert_eq!(saturating_nanos(Duration::from_nanos(u64::MAX)), u64::MAX);
        let more = Duration::from_nanos(u64::MAX) + Duration::from_nanos(1);
        assert_eq!(saturating_nanos(more), u64::MAX);
        assert_eq!(saturating_nanos(Duration::MAX), u64::MAX);
    }
}
