use std::time::Duration;

/// A token bucket, as a generic cell rate algorithm in whole nanoseconds.
///
/// ```text
/// c tokens pass if  full_at ≤ at + (burst − c) · interval;   then  full_at = max(full_at, at) + c · interval
/// ```
///
/// More than the burst never pass. The worst case: within any half-open window `w` pass at most
/// `burst + ⌈w / interval⌉ − 1`.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    /// Nanoseconds for one token, rounded up, so that it is never faster than it was told.
    interval: u64,
    burst: u32,
    /// Nanoseconds from the start until it is full, if nothing comes.
    full_at: u128,
    /// A rate of nothing.
    dry: bool,
}

/// How a bucket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// How many it holds.
    pub(crate) burst: u32,
    pub(crate) left: u64,
    /// How long until it is full.
    pub(crate) full_in: Duration,
}

impl Bucket {
    /// # Panics
    ///
    /// If `burst` is 0.
    #[track_caller]
    pub(crate) fn new(per_second: f64, burst: u32) -> Self {
        assert!(burst > 0, "a burst is at least one request");
        let interval = interval(per_second);
        Self {
            interval: interval.unwrap_or(1),
            burst,
            full_at: 0,
            dry: interval.is_none(),
        }
    }

    pub(crate) fn set_rate(&mut self, at: Duration, per_second: f64) {
        let Some(interval) = interval(per_second) else {
            self.dry = true;
            return;
        };
        let now = at.as_nanos();
        let missing = self.full_at.saturating_sub(now);
        let scaled = (missing * u128::from(interval)).div_ceil(u128::from(self.interval));
        self.full_at = now + scaled;
        self.interval = interval;
        self.dry = false;
    }

    pub(crate) fn wait(&self, at: Duration, cost: u32) -> Duration {
        let Some(rest) = self.burst.checked_sub(cost).filter(|_| !self.dry) else {
            return Duration::MAX;
        };
        let slack = self.price(rest);
        let earliest = self.full_at.saturating_sub(slack);
        nanos(earliest.saturating_sub(at.as_nanos()))
    }

    /// How many it passes in a second, unless that is nothing.
    pub(crate) fn per_second(&self) -> Option<u64> {
        (!self.dry).then(|| 1_000_000_000 / self.interval)
    }

    pub(crate) fn left(&self, at: Duration) -> u64 {
        let missing = self.full_at.saturating_sub(at.as_nanos());
        let taken = missing.div_ceil(u128::from(self.interval));
        u64::from(self.burst).saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX))
    }

    pub(crate) fn level(&self, at: Duration) -> Level {
        Level {
            burst: self.burst,
            left: self.left(at),
            full_in: nanos(self.full_at.saturating_sub(at.as_nanos())),
        }
    }

    pub(crate) fn take(&mut self, at: Duration, cost: u32) {
        self.full_at = self.full_at.max(at.as_nanos()) + self.price(cost);
    }

    pub(crate) fn settle(&mut self, at: Duration, charged: u32, used: u32) {
        match used.checked_sub(charged) {
            Some(more) => self.take(at, more),
            None => self.full_at = self.full_at.saturating_sub(self.price(charged - used)),
        }
    }

    fn price(&self, cost: u32) -> u128 {
        u128::from(self.interval) * u128::from(cost)
    }
}

/// Nanoseconds for one token, at least one and at most a century's; `None` for a rate of nothing.
fn interval(per_second: f64) -> Option<u64> {
    const CENTURY: f64 = 3.2e18;
    /// So that what the division of floats adds is not rounded up to one more.
    const EXACT: f64 = 1.0 - 1e-12;
    (per_second > 0.0).then(|| (1e9 / per_second * EXACT).ceil().clamp(1.0, CENTURY) as u64)
}

/// As long as a duration can be, at most.
pub(crate) fn nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    u64::try_from(nanos / SECOND).map_or(Duration::MAX, |seconds| {
        Duration::new(seconds, (nanos % SECOND) as u32)
    })
}
