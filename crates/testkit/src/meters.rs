use std::time::Duration;

use crate::bucket::{Bucket, Level};
use crate::window::Window;

/// How many requests may arrive: a token bucket, fixed windows, or both; and a bucket that they cost
/// more than one of.
///
/// It reads no clock: `at` is the time since the upstream's start, and never goes back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meters {
    bucket: Option<Bucket>,
    windows: Vec<Window>,
    tokens: Option<Bucket>,
}

impl Meters {
    pub(crate) fn set_bucket(&mut self, bucket: Bucket) {
        self.bucket = Some(bucket);
    }

    pub(crate) fn add_window(&mut self, window: Window) {
        self.windows.push(window);
    }

    /// A bucket that was there keeps its burst and how many tokens it lacks.
    pub(crate) fn set_rate(&mut self, at: Duration, per_second: f64) {
        match &mut self.bucket {
            Some(bucket) => bucket.set_rate(at, per_second),
            None => self.bucket = Some(Bucket::new(per_second, 1)),
        }
    }

    /// What the bucket has: how many it passes in a second, and how many are left.
    pub(crate) fn bucket(&self, at: Duration) -> Option<(u64, u64)> {
        let bucket = self.bucket.as_ref()?;
        Some((bucket.per_second()?, bucket.left(at)))
    }

    pub(crate) fn set_tokens(&mut self, bucket: Bucket) {
        self.tokens = Some(bucket);
    }

    /// Of the requests and of the tokens.
    pub(crate) fn levels(&self, at: Duration) -> [Option<Level>; 2] {
        [&self.bucket, &self.tokens].map(|bucket| bucket.as_ref().map(|bucket| bucket.level(at)))
    }

    /// Takes so many tokens, if they are counted.
    ///
    /// # Errors
    ///
    /// If they are not there: how long it will take until they are.
    pub(crate) fn charge_tokens(&mut self, at: Duration, cost: u32) -> Result<(), Duration> {
        let Some(tokens) = &mut self.tokens else {
            return Ok(());
        };
        match tokens.wait(at, cost) {
            Duration::ZERO => tokens.take(at, cost),
            wait => return Err(wait),
        }
        Ok(())
    }

    /// What was charged did cost `used`.
    pub(crate) fn settle_tokens(&mut self, at: Duration, charged: u32, used: u32) {
        if let Some(tokens) = &mut self.tokens {
            tokens.settle(at, charged, used);
        }
    }

    /// Charges all that count requests, or none of them.
    ///
    /// # Errors
    ///
    /// If one of them has no room: how long it will take until all have.
    pub(crate) fn charge(&mut self, at: Duration) -> Result<(), Duration> {
        let bucket = self.bucket.as_ref().map(|bucket| bucket.wait(at, 1));
        let windows = self.windows.iter().map(|window| window.wait(at));
        let wait = bucket.into_iter().chain(windows).max().unwrap_or_default();
        if !wait.is_zero() {
            return Err(wait);
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.take(at, 1);
        }
        for window in &mut self.windows {
            window.take(at);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::most_in;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn bucket(per_second: f64, burst: u32) -> Meters {
        let mut meters = Meters::default();
        meters.set_bucket(Bucket::new(per_second, burst));
        meters
    }

    fn passed(meters: &mut Meters, at: impl IntoIterator<Item = Duration>) -> Vec<Duration> {
        at.into_iter()
            .filter(|at| meters.charge(*at).is_ok())
            .collect()
    }

    #[test]
    fn a_bucket_passes_its_burst_and_then_one_an_interval() {
        let mut meters = bucket(200.0, 3);
        assert_eq!(passed(&mut meters, [ms(0); 5]), [ms(0); 3]);
        assert_eq!(meters.charge(ms(4)), Err(ms(1)));
        assert_eq!(
            passed(&mut meters, (4..=12).map(ms)),
            [ms(5), ms(10)],
            "5 ms each"
        );
    }

    /// The definition, in tokens: as many as the burst, and no more than were made since.
    #[test]
    fn a_bucket_agrees_with_tokens_that_are_counted() {
        for seed in 0..20 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let burst = rng.random_range(1..20);
            let interval: u64 = rng.random_range(1..5_000);
            let mut meters = bucket(1e9 / interval as f64, burst);
            // Tokens times `interval`.
            let full = interval * u64::from(burst);
            let (mut tokens, mut at) = (full, 0);
            for _ in 0..2_000 {
                let step = rng.random_range(0..interval * 2);
                at += step;
                tokens = full.min(tokens + step);
                let expected = tokens >= interval;
                if expected {
                    tokens -= interval;
                }
                let charged = meters.charge(Duration::from_nanos(at));
                let wait = Duration::from_nanos(interval.saturating_sub(tokens));
                assert_eq!(charged.is_ok(), expected, "seed {seed}, at {at}");
                assert!(charged.is_ok() || charged == Err(wait));
            }
        }
    }

    #[test]
    fn no_window_has_more_than_the_worst_case_and_one_has_as_many() {
        let mut meters = bucket(200.0, 10);
        let passed = passed(&mut meters, (0..20_000).map(|n| ms(1_000) + ms(n) / 10));
        for (window, most) in [(ms(5), 10), (ms(6), 11), (ms(1_000), 209)] {
            assert_eq!(most_in(window, passed.iter().copied()), most);
        }
    }

    #[test]
    fn a_rate_that_changes_keeps_the_tokens_that_are_missing() {
        let mut meters = bucket(100.0, 4);
        passed(&mut meters, [ms(0); 4]);
        meters.set_rate(ms(0), 10.0);
        assert_eq!(meters.charge(ms(0)), Err(ms(100)));
        meters.set_rate(ms(50), 1_000.0);
        assert_eq!(passed(&mut meters, [ms(50), ms(51)]), [ms(51)]);
    }

    #[test]
    fn a_rate_of_nothing_passes_nobody_until_it_is_set_again() {
        let mut meters = bucket(0.0, 2);
        assert_eq!(meters.charge(ms(9)), Err(Duration::MAX));
        for (nth, nothing) in (1..).zip([-1.0, f64::NAN, 0.0]) {
            let at = ms(nth * 1_000);
            meters.set_rate(at, 100.0);
            assert_eq!(meters.charge(at), Ok(()));
            meters.set_rate(at, nothing);
            assert_eq!(meters.charge(at), Err(Duration::MAX));
        }
    }

    #[test]
    fn what_is_left_of_a_bucket_is_told_in_whole_tokens() {
        let mut meters = bucket(200.0, 3);
        assert_eq!(meters.bucket(ms(0)), Some((200, 3)));
        passed(&mut meters, [ms(0); 3]);
        let left = [0, 4, 5, 14, 15, 99].map(|at| meters.bucket(ms(at)).unwrap().1);
        assert_eq!(left, [0, 0, 1, 2, 3, 3]);
        assert_eq!(bucket(0.0, 2).bucket(ms(9)), None);
    }

    #[test]
    fn tokens_are_charged_by_cost_and_settled_by_what_was_used() {
        let mut meters = Meters::default();
        meters.set_tokens(Bucket::new(100.0, 50));
        assert_eq!(meters.charge_tokens(ms(0), 51), Err(Duration::MAX));
        assert_eq!(meters.charge_tokens(ms(0), 50), Ok(()));
        assert_eq!(meters.charge_tokens(ms(100), 30), Err(ms(200)));
        meters.settle_tokens(ms(100), 50, 30);
        let level = meters.levels(ms(100))[1].unwrap();
        assert_eq!((level.left, level.full_in), (30, ms(200)));
        // More than was charged may be a debt.
        assert_eq!(meters.charge_tokens(ms(100), 30), Ok(()));
        meters.settle_tokens(ms(100), 30, 40);
        assert_eq!(meters.charge_tokens(ms(100), 1), Err(ms(110)));
        // What was given back is never more than the bucket holds.
        meters.settle_tokens(ms(9_000), 40, 0);
        assert_eq!(meters.charge_tokens(ms(9_000), 50), Ok(()));
        assert_eq!(meters.charge_tokens(ms(9_000), 1), Err(ms(10)));
    }

    #[test]
    fn windows_are_aligned_to_the_start() {
        let mut meters = Meters::default();
        meters.add_window(Window::new(2, ms(100)));
        let at = [30, 40, 99, 100, 101, 102, 250].map(ms);
        assert_eq!(passed(&mut meters, at), [30, 40, 100, 101, 250].map(ms));
        assert_eq!(meters.charge(ms(251)), Ok(()));
        assert_eq!(meters.charge(ms(251)), Err(ms(49)));
    }

    #[test]
    fn whoever_is_over_one_meter_is_charged_to_none() {
        let mut meters = bucket(10.0, 1);
        meters.add_window(Window::new(2, ms(1_000)));
        let at = [0, 1, 2, 3, 100, 200].map(ms);
        assert_eq!(passed(&mut meters, at), [0, 100].map(ms));
        assert_eq!(meters.charge(ms(200)), Err(ms(800)));
    }
}
