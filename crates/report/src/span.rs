use std::time::Duration;

use crate::counts::Counts;
use crate::interval::Interval;

/// Intervals as one, for a view.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    pub(crate) interval: Interval,
}

impl Span {
    pub(crate) fn length(&self) -> Duration {
        self.until.saturating_sub(self.from)
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.interval.counts
    }
}
