use std::time::Duration;

use hdrhistogram::Histogram;
use tidegate_core::{Sample, Snapshot};

use crate::counts::{Counts, State};

/// Latencies are told apart to 6 %, from a microsecond to a minute; what is outside counts as the
/// nearest.
const SHORTEST: u64 = 1;
const LONGEST: u64 = 60_000_000;
const DIGITS: u8 = 1;

/// A stretch of time: its numbers, and the latencies of its successes.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub(crate) counts: Counts,
    /// Microseconds; 1.4 KB.
    latencies: Histogram<u32>,
}

impl Interval {
    pub(crate) fn new(state: State) -> Self {
        let latencies = Histogram::new_with_bounds(SHORTEST, LONGEST, DIGITS);
        Self {
            counts: Counts::new(state),
            latencies: latencies.expect("the bounds are in order"),
        }
    }

    /// As new, with the memory that is there.
    pub(crate) fn clear(&mut self, state: State) {
        self.counts = Counts::new(state);
        self.latencies.reset();
    }

    pub(crate) fn sample(&mut self, sample: &Sample) {
        self.counts.sample(sample);
        if let (true, Some(latency)) = (sample.outcome.is_success(), sample.latency) {
            let micros = latency.as_secs().saturating_mul(1_000_000);
            let micros = micros.saturating_add(latency.subsec_micros().into());
            self.latencies.saturating_record(micros);
        }
    }

    pub(crate) fn snapshot(&mut self, snapshot: &Snapshot) {
        self.counts.snapshot(snapshot);
    }

    /// With what came right after it.
    pub(crate) fn add(&mut self, later: &Self) {
        self.counts.add(&later.counts);
        self.latencies
            .add(&later.latencies)
            .expect("both have the same bounds");
    }

    /// Of the successes: `quantile` of them took at most this long, `0.0..=1.0`.
    pub(crate) fn latency(&self, quantile: f64) -> Option<Duration> {
        let micros = self.latencies.value_at_quantile(quantile);
        let middle = self.latencies.median_equivalent(micros);
        (!self.latencies.is_empty()).then(|| Duration::from_micros(middle))
    }
}
