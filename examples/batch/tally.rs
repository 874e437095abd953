use std::collections::HashMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use reqwest::Url;
use tidegate_testkit::Exhausted;

use crate::attempt::Ended;
use crate::strategy::Strategy;

/// What has become of the requests so far.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) succeeded: usize,
    pub(crate) refused: usize,
    pub(crate) failed: usize,
    pub(crate) sent: usize,
    /// Tries that did not succeed.
    pub(crate) failures: usize,
    pub(crate) took: Duration,
    /// Microseconds of the tries that succeeded.
    latency: Histogram<u64>,
    /// How many tries found nothing left of it.
    exhausted: HashMap<Exhausted, usize>,
    first_failed: Option<String>,
}

/// Decimal digits that a latency is kept with.
const DIGITS: u8 = 3;

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            succeeded: 0,
            refused: 0,
            failed: 0,
            sent: 0,
            failures: 0,
            took: Duration::ZERO,
            latency: Histogram::new(DIGITS).expect("so many digits can be kept"),
            exhausted: HashMap::new(),
            first_failed: None,
        }
    }

    /// One more try.
    pub(crate) fn tried(&mut self, ended: &Ended) {
        match ended {
            Ended::Succeeded { latency } => {
                let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
                self.latency += micros;
            }
            Ended::Refused | Ended::Failed { .. } => self.failures += 1,
            Ended::Exhausted(what) => {
                self.failures += 1;
                *self.exhausted.entry(*what).or_default() += 1;
                return;
            }
        }
        self.sent += 1;
    }

    /// One more request, whose last try ended like this.
    pub(crate) fn ended(&mut self, ended: &Ended, url: &Url) {
        if let Ended::Failed { why } = ended {
            self.first_failed
                .get_or_insert_with(|| format!("{url}: {why}"));
        }
        *match ended {
            Ended::Succeeded { .. } => &mut self.succeeded,
            Ended::Refused => &mut self.refused,
            Ended::Failed { .. } | Ended::Exhausted(_) => &mut self.failed,
        } += 1;
    }

    /// How many requests are over.
    pub(crate) fn done(&self) -> usize {
        self.succeeded + self.refused + self.failed
    }

    /// In milliseconds, of the tries that succeeded, if there are any.
    pub(crate) fn latency_ms(&self, quantile: f64) -> Option<f64> {
        let micros = self.latency.value_at_quantile(quantile);
        (!self.latency.is_empty()).then_some(micros as f64 / 1e3)
    }

    /// On standard error: why the first one failed, and what this machine had not enough of.
    pub(crate) fn tell_failures(&self, strategy: Strategy) {
        if let Some(first) = &self.first_failed {
            eprintln!(
                "{strategy}: {} failed, the first of them {first}",
                self.failed
            );
        }
        for (what, tries) in &self.exhausted {
            eprintln!("{strategy}: {tries} tries were not sent: {what}");
        }
    }
}
