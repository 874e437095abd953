use std::fmt;

use tidegate_core::Snapshot;

use crate::counts::Counts;

/// How a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Moment {
    /// What became of the requests so far.
    pub counts: Counts,
    /// How many requests the whole input has, if it tells.
    pub requests: Option<usize>,
    /// How many tries are under way, those that wait at a limit included.
    pub under_way: usize,
    /// How the [steered](crate::Batch::steer) layer stands, if there is one.
    pub steer: Option<Snapshot>,
}

impl Moment {
    /// How many need no more work: over, or done by an earlier run.
    pub fn done(&self) -> usize {
        self.counts.ended() + self.counts.skipped
    }
}

/// A door that has no limit has one beyond all that could be in flight.
const LIMITS: usize = u32::MAX as usize;

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(steer) = self.steer.filter(|steer| steer.limit < LIMITS) {
            write!(f, "limit {}, ", steer.limit)?;
        }
        let (under_way, failed) = (self.under_way, self.counts.failed_tries);
        write!(f, "{under_way} under way, {failed} failed tries")
    }
}
