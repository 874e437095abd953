/// A token bucket, full at the start.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Tokens per nanosecond, before any step.
    full_rate: f64,
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: u64,
}

impl Bucket {
    pub(super) fn new(per_second: f64, burst: f64) -> Self {
        Self {
            full_rate: per_second / 1e9,
            rate: per_second / 1e9,
            burst,
            tokens: burst,
            filled: 0,
        }
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&mut self, now: u64) -> bool {
        self.fill(now);
        let there = self.tokens >= 1.0 - 1e-9;
        if there {
            self.tokens -= 1.0;
        }
        there
    }

    /// So many parts of its rate from now on; the burst stays.
    pub(super) fn scale(&mut self, now: u64, capacity: f64) {
        self.fill(now);
        self.rate = self.full_rate * capacity;
    }

    fn fill(&mut self, now: u64) {
        self.tokens = (self.tokens + (now - self.filled) as f64 * self.rate).min(self.burst);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_through_its_burst_and_then_its_rate() {
        let mut bucket = Bucket::new(200.0, 20.0);
        let passed = (0..10_000_u64)
            .filter(|ms| bucket.take(ms * 1_000_000))
            .count();
        assert_eq!(passed, 20 + 1_999);
    }

    #[test]
    fn a_step_changes_the_rate_and_not_the_burst() {
        let mut bucket = Bucket::new(200.0, 20.0);
        bucket.scale(0, 0.5);
        let passed = (0..10_000_u64)
            .filter(|ms| bucket.take(ms * 1_000_000))
            .count();
        assert_eq!(passed, 20 + 999);
    }
}
