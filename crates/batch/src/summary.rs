use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::counts::Counts;
use crate::left::Left;
use crate::refusals::Refusals;
use crate::stopped::Stopped;
use crate::tally::Tally;

/// What a run came to. Its `Display` is a few lines for people to read.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "it says whether the run got to its end"]
pub struct Summary {
    /// What became of the requests.
    pub counts: Counts,
    /// From the first look at the input to the end of the last request.
    pub took: Duration,
    /// Every try that a layer refused to send, by layer and reason.
    pub refusals: Vec<Refusals>,
    /// The first request that failed for good, in the order in which they ended, and why.
    pub first_failure: Option<(usize, String)>,
    /// Why it ended before its input did; `None` if every request is over.
    pub stopped: Option<Stopped>,
    /// What it did not get to.
    pub left: Left,
    latency: Histogram<u64>,
}

impl Summary {
    /// What stopped it too late is not told, but for a checkpoint that lacks something.
    pub(crate) fn new(tally: Tally, took: Duration, stopped: Option<Stopped>, left: Left) -> Self {
        let counts = |stopped: &_| matches!(stopped, Stopped::Checkpoint(_)) || !left.is_nothing();
        let stopped = stopped.filter(counts);
        Self {
            counts: tally.counts,
            took,
            refusals: tally.refusals,
            first_failure: tally.first_failure,
            stopped,
            left,
            latency: tally.latency,
        }
    }

    /// Latency of the tries that succeeded, to three digits: from the call of the stack, waits at its
    /// layers included, to the end of the closure. `None` if there are none.
    ///
    /// `quantile` is within `0.0..=1.0`: the median is 0.5.
    pub fn latency(&self, quantile: f64) -> Option<Duration> {
        let micros = self.latency.value_at_quantile(quantile);
        (!self.latency.is_empty()).then_some(Duration::from_micros(micros))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts {
            succeeded,
            refused,
            failed,
            panicked,
            skipped,
            tries,
            ..
        } = self.counts;
        let all = self.counts.ended();
        let took = self.took;
        write!(f, "{all} requests in {took:.2?}: {succeeded} succeeded")?;
        for (count, what) in [
            (refused, "refused"),
            (failed, "failed"),
            (panicked, "of them panicked"),
            (skipped, "done before"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        write!(f, "; {tries} tries")?;
        if let [Some(median), Some(slow)] = [0.5, 0.99].map(|quantile| self.latency(quantile)) {
            write!(f, ", p50 {median:.1?}, p99 {slow:.1?}")?;
        }
        for Refusals { by, reason, tries } in &self.refusals {
            write!(f, "\nrefused by {by} {tries} times: {reason}")?;
        }
        if let Some((index, why)) = &self.first_failure {
            write!(f, "\nthe first to fail was {index}: {why}")?;
        }
        if let Some(stopped) = &self.stopped {
            write!(f, "\n{stopped}; {}", self.left)?;
        }
        Ok(())
    }
}
