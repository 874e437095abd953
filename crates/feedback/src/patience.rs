use std::time::Duration;

use tidegate_core::saturating_nanos;

/// One over the weight of a new sample in the usual time (RFC 6298 §2.3: alpha).
const WEIGHT: u64 = 8;

/// What is late in multiples of the usual time.
const LATE: u64 = 2;

/// What is late while no success has told what is usual (RFC 6298 §2.1: the first timeout).
const UNKNOWN: Duration = Duration::from_secs(1);

/// Tells a caller that gave up because it waited too long from one that left early.
///
/// ```text
/// usual = usual + (time − usual) / 8        of successes
/// late  = time > 2 · usual
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patience {
    /// Nanoseconds: to divide by a power of two costs less than to make seconds of them.
    usual: Option<u64>,
    fixed: Option<Duration>,
}

impl Patience {
    pub(crate) fn fix(&mut self, late_after: Duration) {
        self.fixed = Some(late_after);
    }

    pub(crate) fn succeeded(&mut self, time: Duration) {
        let time = saturating_nanos(time);
        let usual = self.usual.unwrap_or(time);
        self.usual = Some(usual - usual / WEIGHT + time / WEIGHT);
    }

    pub(crate) fn is_late(&self, time: Duration) -> bool {
        match (self.fixed, self.usual) {
            (Some(fixed), _) => time > fixed,
            (None, Some(usual)) => saturating_nanos(time) > LATE.saturating_mul(usual),
            (None, None) => time > UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn late_is_more_than_twice_the_usual_time() {
        let mut patience = Patience::default();
        for _ in 0..100 {
            patience.succeeded(ms(50));
        }
        assert!(!patience.is_late(ms(99)));
        assert!(patience.is_late(ms(101)));
    }

    #[test]
    fn before_the_first_success_a_second_is_late() {
        assert!(!Patience::default().is_late(ms(1_000)));
        assert!(Patience::default().is_late(ms(1_001)));
    }

    #[test]
    fn a_set_time_holds_whatever_is_usual() {
        let mut patience = Patience::default();
        patience.fix(ms(500));
        patience.succeeded(ms(1));
        assert!(!patience.is_late(ms(500)));
        assert!(patience.is_late(ms(501)));
    }
}
