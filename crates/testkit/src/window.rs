use std::time::Duration;

use crate::bucket::nanos;

/// So many in each of the windows that follow one another from the start on.
///
/// The worst case: twice as many within one window's length, at the end of one and the start of the
/// next.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    limit: u64,
    length: Duration,
    /// Which one was counted last.
    current: u128,
    count: u64,
}

impl Window {
    /// # Panics
    ///
    /// If `length` is zero.
    #[track_caller]
    pub(crate) fn new(limit: u64, length: Duration) -> Self {
        assert!(!length.is_zero(), "a window is longer than zero");
        Self {
            limit,
            length,
            current: 0,
            count: 0,
        }
    }

    fn nth(&self, at: Duration) -> u128 {
        at.as_nanos() / self.length.as_nanos()
    }

    pub(crate) fn wait(&self, at: Duration) -> Duration {
        let nth = self.nth(at);
        let count = if nth == self.current { self.count } else { 0 };
        if count < self.limit {
            return Duration::ZERO;
        }
        let next = (nth + 1).saturating_mul(self.length.as_nanos());
        nanos(next - at.as_nanos())
    }

    pub(crate) fn take(&mut self, at: Duration) {
        let nth = self.nth(at);
        if nth != self.current {
            self.current = nth;
            self.count = 0;
        }
        self.count += 1;
    }
}
