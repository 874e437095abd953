use tidegate::{KeySettings, per_second};

/// What a host can bear.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Requests per second.
    pub(crate) rate: f64,
    pub(crate) burst: u32,
    pub(crate) limit: usize,
}

impl Capacity {
    /// That of host `number` of so many: the first is the slowest, and each is faster than the one
    /// before by the same factor.
    pub(crate) fn of(number: u32, hosts: u32, slowest: f64, fastest: f64) -> Self {
        let part = f64::from(number) / f64::from(hosts.saturating_sub(1).max(1));
        Self {
            rate: slowest * (fastest / slowest).powf(part),
            burst: 1 + number % 3,
            limit: 1 + number as usize % 4,
        }
    }

    pub(crate) fn settings(self) -> KeySettings {
        let pace = per_second(self.rate).burst(self.burst);
        KeySettings::new().limit(self.limit).pace(pace)
    }

    /// How many seconds pass at least from the first to the last of so many requests.
    pub(crate) fn bound(self, requests: usize) -> f64 {
        (requests as f64 - f64::from(self.burst)).max(0.0) / self.rate
    }

    /// How many more started than the rate gained, in the window in which they are most: the burst, if
    /// none was too early. Seconds, in their order.
    pub(crate) fn worst_window(self, starts: &[f64]) -> f64 {
        let (mut least, mut worst) = (f64::INFINITY, 0.0_f64);
        for (before, start) in starts.iter().enumerate() {
            let gained = self.rate * start;
            least = least.min(before as f64 - gained);
            worst = worst.max((before + 1) as f64 - gained - least);
        }
        worst
    }
}
