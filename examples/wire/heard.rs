use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tidegate::{Change, Observer, Outcome, Sample};

use crate::figures::Figures;

/// Counts what the law hears.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    successes: AtomicU64,
    overloads: AtomicU64,
}

impl Heard {
    pub(crate) fn over(&self, span: Duration) -> Figures {
        let successes = self.successes.load(Relaxed) as f64;
        let overloads = self.overloads.load(Relaxed) as f64;
        Figures {
            goodput: successes / span.as_secs_f64(),
            waste: overloads / (successes + overloads).max(1.0),
        }
    }
}

impl Observer for Heard {
    fn on_sample(&self, _now: Instant, sample: &Sample) {
        match sample.outcome {
            Outcome::Success => self.successes.fetch_add(1, Relaxed),
            Outcome::Overload(_) => self.overloads.fetch_add(1, Relaxed),
            Outcome::Failure | Outcome::Ignored => 0,
        };
    }

    fn on_change(&self, _now: Instant, _change: &Change) {}
}
