use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Reason, Sample, Setting};

use crate::estimator::{Estimator, OVERLOADED, Round, Term, Verdict};
use crate::{Bounds, Invalid};

/// Finds the limit from nothing.
#[derive(Clone, Debug)]
pub struct Prober(Estimator<Cut>);

/// Rule 4.
#[derive(Clone, Copy, Debug)]
struct Cut;

impl Term for Cut {
    const COUNTS_FAILURES: bool = false;

    fn judge(&mut self, n: f64, round: &Round) -> Verdict {
        let Round { o, eo, .. } = *round;
        let early = f64::from(eo) >= (0.4 * n).max(3.0);
        let (overloaded, of) = if early {
            (eo, round.m().max(eo))
        } else {
            (o, round.m())
        };
        if early || (o >= 3 && f64::from(o) > OVERLOADED * f64::from(of)) {
            Verdict::Cut(
                0.75 * n,
                Reason::Overloaded {
                    overloaded,
                    of,
                    threshold: OVERLOADED,
                },
            )
        } else {
            Verdict::Free
        }
    }
}

impl Prober {
    /// With the wall time as `phase`.
    pub fn new(phase: Duration) -> Self {
        Self(Estimator::new(phase, Cut))
    }

    /// The greatest limit.
    #[must_use]
    pub fn max(mut self, max: usize) -> Self {
        match Bounds::new(self.0.bounds.min(), max) {
            Ok(bounds) => self.0.bounds = bounds,
            Err(invalid) => panic!("{invalid}"),
        }
        self
    }
}

impl Controller for Prober {
    fn on_start(&mut self, now: Instant, _in_flight: usize) {
        self.0.on_start(now);
    }
    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.0.on_sample(now, sample)
    }
    fn setting(&self) -> Setting {
        self.0.setting()
    }
    fn move_to(&mut self, now: Instant, limit: f64) {
        self.0.move_to(now, limit);
    }
}
