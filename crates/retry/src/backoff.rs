use std::ops::Range;
use std::time::Duration;

use crate::Jitter;

/// How long to stay away before each retry. No clock, and chance is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    base: Duration,
    /// At least `base`.
    cap: Duration,
    /// At most `cap`.
    floor: Duration,
    jitter: Jitter,
}

impl Backoff {
    #[track_caller]
    pub(crate) fn exponential(delays: Range<Duration>) -> Self {
        let Range { start, end } = delays;
        assert!(
            start <= end,
            "a back-off grows, from {start:?} to at least that, not {end:?}"
        );
        Self {
            base: start,
            cap: end,
            floor: Duration::ZERO,
            jitter: Jitter::default(),
        }
    }

    pub(crate) fn jitter(self, jitter: Jitter) -> Self {
        Self { jitter, ..self }
    }

    #[track_caller]
    pub(crate) fn floor(self, floor: Duration) -> Self {
        assert!(
            floor <= self.cap,
            "a floor is at most the cap of {:?}, not {floor:?}",
            self.cap
        );
        Self { floor, ..self }
    }

    /// Before the `retry`th retry, from 1 on, where `previous` was waited before the last one (`None`
    /// before the first). `random` is within `0.0..1.0`.
    pub(crate) fn delay(&self, retry: u32, previous: Option<Duration>, random: f64) -> Duration {
        let ceiling = self.ceiling(retry);
        let delay = match self.jitter {
            Jitter::None => ceiling,
            Jitter::Full => between(self.floor, ceiling, random),
            Jitter::Equal => between(ceiling / 2, ceiling, random),
            Jitter::Decorrelated => {
                let widest = previous.unwrap_or(self.base).saturating_mul(3);
                between(self.base, widest, random).min(self.cap)
            }
        };
        delay.max(self.floor)
    }

    /// `min(cap, base · 2ⁿ⁻¹)`.
    fn ceiling(&self, retry: u32) -> Duration {
        let cap = self.cap.as_nanos();
        let factor = 1u128.checked_shl(retry.saturating_sub(1));
        // A base of zero stays zero, also where the factor is beyond reckoning.
        let ceiling = match (self.base.as_nanos(), factor) {
            (0, _) => 0,
            (base, Some(factor)) => base.checked_mul(factor).map_or(cap, |grown| grown.min(cap)),
            (_, None) => cap,
        };
        from_nanos(ceiling)
    }
}

/// Of what was a duration's before: it fits.
fn from_nanos(nanos: u128) -> Duration {
    const PER_SECOND: u128 = 1_000_000_000;
    Duration::new((nanos / PER_SECOND) as u64, (nanos % PER_SECOND) as u32)
}

fn between(low: Duration, high: Duration, random: f64) -> Duration {
    let span = high.saturating_sub(low);
    // What rounding carries beyond the longest duration there is.
    let part = Duration::try_from_secs_f64(span.as_secs_f64() * random).unwrap_or(span);
    low.saturating_add(part.min(span))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_core::Units;

    use super::*;

    const ALL: [Jitter; 4] = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
    ];

    /// Half of them are short, as they are in life; the others anything.
    fn durations() -> impl Strategy<Value = Duration> {
        let short = (0..100_000u64).prop_map(Duration::from_millis);
        let any = (any::<u64>(), 0..1_000_000_000u32).prop_map(|(s, ns)| Duration::new(s, ns));
        prop_oneof![short, any]
    }

    fn backoffs() -> impl Strategy<Value = Backoff> {
        let parts = (durations(), durations(), durations(), 0..ALL.len());
        parts.prop_map(|(a, b, floor, jitter)| {
            Backoff::exponential(a.min(b)..a.max(b))
                .floor(floor.min(a.max(b)))
                .jitter(ALL[jitter])
        })
    }

    fn retries() -> impl Strategy<Value = u32> {
        prop_oneof![1..200u32, Just(1_024), Just(10_000), Just(u32::MAX)]
    }

    proptest! {
        #[test]
        fn a_delay_is_between_floor_and_cap_at_any_retry(
            backoff in backoffs(), retry in retries(), previous in durations(), random in 0.0..1.0,
        ) {
            let previous = Some(previous).filter(|_| retry > 1);
            let delay = backoff.delay(retry, previous, random);
            prop_assert!(delay >= backoff.floor && delay <= backoff.cap, "{delay:?}");
        }

        #[test]
        fn what_chance_cannot_exceed_never_falls_from_one_retry_to_the_next(
            backoff in backoffs(), retry in retries(),
        ) {
            let ceiling = backoff.ceiling(retry);
            prop_assert!(ceiling <= backoff.ceiling(retry.saturating_add(1)));
            // Doubled, unless the cap cuts it.
            let next = backoff.ceiling(retry.saturating_add(1));
            prop_assert!(next == backoff.cap || retry == u32::MAX || next == ceiling * 2);
        }

        #[test]
        fn with_equal_jitter_half_of_the_ceiling_is_certain(
            backoff in backoffs(), retry in retries(), random in 0.0..1.0,
        ) {
            let backoff = backoff.jitter(Jitter::Equal);
            prop_assert!(backoff.delay(retry, None, random) >= backoff.ceiling(retry) / 2);
        }

        #[test]
        fn a_larger_number_never_gives_a_shorter_delay(
            backoff in backoffs(), retry in retries(), previous in durations(),
            a in 0.0..1.0, b in 0.0..1.0,
        ) {
            let delay = |random| backoff.delay(retry, Some(previous), random);
            let (low, high) = (f64::min(a, b), f64::max(a, b));
            prop_assert!(delay(low) <= delay(high));
        }
    }

    fn tenth_to_five() -> Backoff {
        Backoff::exponential(100.ms()..5.s())
    }

    #[test]
    fn without_jitter_it_doubles_up_to_the_cap_and_stays_there() {
        let backoff = tenth_to_five().jitter(Jitter::None);
        let delays = [1, 2, 3, 6, 7, 10_000, u32::MAX].map(|retry| backoff.delay(retry, None, 0.9));
        let expected = [100, 200, 400, 3_200, 5_000, 5_000, 5_000].map(|ms: u64| ms.ms());
        assert_eq!(delays, expected);
    }

    #[test]
    fn a_base_of_zero_is_the_floor_alone() {
        let backoff = Backoff::exponential(0.ms()..60.s()).floor(7.ms());
        for (retry, jitter) in [1, 33, 40, 64, 129, 10_000]
            .into_iter()
            .flat_map(|retry| ALL.map(|jitter| (retry, jitter)))
        {
            let delay = backoff.jitter(jitter).delay(retry, Some(0.ms()), 0.0);
            assert_eq!(delay, 7.ms(), "{jitter:?}");
        }
    }

    /// The mean of each tenth of an even spread is in its middle.
    #[test]
    fn the_jitters_spread_evenly_over_what_they_say() {
        let at = |jitter, random| {
            let backoff = tenth_to_five().floor(50.ms()).jitter(jitter);
            backoff.delay(3, Some(300.ms()), random).as_secs_f64()
        };
        for (jitter, low, high) in [
            (Jitter::Full, 0.050, 0.400),
            (Jitter::Equal, 0.200, 0.400),
            (Jitter::Decorrelated, 0.100, 0.900),
        ] {
            for tenth in 0..10 {
                let random = f64::from(tenth) / 10.0 + 0.05;
                let expected = low + (high - low) * random;
                assert!((at(jitter, random) - expected).abs() < 1e-9, "{jitter:?}");
            }
        }
    }

    #[test]
    fn the_numbers_drawn_are_as_often_in_each_tenth() {
        let mut tenths = [0u32; 10];
        for _ in 0..100_000 {
            tenths[(crate::random::random() * 10.0) as usize] += 1;
        }
        // Six standard deviations of a binomial distribution: 6 · √(100,000 · 0.1 · 0.9) = 569.
        assert!(
            tenths.iter().all(|count| count.abs_diff(10_000) < 569),
            "{tenths:?}"
        );
    }

    #[test]
    fn decorrelated_delays_reach_the_cap_and_come_down_again() {
        let backoff = tenth_to_five().jitter(Jitter::Decorrelated);
        let mut previous = None;
        for _ in 0..10 {
            previous = Some(backoff.delay(1, previous, 0.999));
        }
        assert_eq!(previous, Some(5.s()));
        assert_eq!(backoff.delay(11, previous, 0.0), 100.ms());
    }

    #[test]
    #[should_panic(expected = "at most the cap")]
    fn a_floor_above_the_cap_is_nonsense() {
        let _ = tenth_to_five().floor(6.s());
    }
}
