use std::time::Duration;

use hdrhistogram::Histogram;
use reqwest::Url;
use tidegate::{Error, chain};
use tidegate_testkit::Exhausted;

use crate::run::Answered;

/// How the requests ended.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) succeeded: usize,
    pub(crate) refused: usize,
    pub(crate) failed: usize,
    /// Why the first one failed.
    pub(crate) first_failed: Option<String>,
    pub(crate) took: Duration,
    /// Microseconds of those that succeeded, without the wait at the gate.
    latency: Histogram<u64>,
}

/// Decimal digits that a latency is kept with.
const DIGITS: u8 = 3;

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            succeeded: 0,
            refused: 0,
            failed: 0,
            first_failed: None,
            took: Duration::ZERO,
            latency: Histogram::new(DIGITS).expect("so many digits can be kept"),
        }
    }

    /// One more request, whose last try ended like this.
    pub(crate) fn ended(&mut self, result: &Result<Duration, Error>, url: &Url) {
        let error = match result {
            Ok(latency) => {
                self.succeeded += 1;
                self.latency += u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
                return;
            }
            Err(error) => error,
        };
        if error.find().is_some_and(Answered::refuses) {
            self.refused += 1;
            return;
        }
        self.failed += 1;
        // What this machine ran out of is told by itself.
        if Exhausted::find(error).is_none() {
            // Above the root there are only the layers that it came through.
            let root = chain(error).last().expect("the error itself is there");
            self.first_failed
                .get_or_insert_with(|| format!("{url}: {root}"));
        }
    }

    /// How many requests are over.
    pub(crate) fn done(&self) -> usize {
        self.succeeded + self.refused + self.failed
    }

    /// In milliseconds, of the requests that succeeded, if there are any.
    pub(crate) fn latency_ms(&self, quantile: f64) -> Option<f64> {
        let micros = self.latency.value_at_quantile(quantile);
        (!self.latency.is_empty()).then_some(micros as f64 / 1e3)
    }
}
