use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Reason, Sample, Setting};

use crate::estimator::{Estimator, Round, Share, Term, Verdict};
use crate::{Bounds, Invalid};

/// Share of overloads above which the limit is cut.
const OVERLOADED: f64 = 0.06;

/// What a cut leaves of the limit.
const KEEP: f64 = 0.75;

/// Finds the limit from nothing.
#[derive(Clone, Debug)]
pub struct Prober(Estimator<Cut>);

/// Rule 4: cut, and hold.
#[derive(Clone, Copy, Debug)]
struct Cut;

impl Term for Cut {
    fn share(&self) -> f64 {
        OVERLOADED
    }

    fn failed(&self, n: f64, round: &Round) -> Share {
        round.overloads(n)
    }

    fn judge(&mut self, n: f64, round: &Round, accepted: f64, overloaded: bool) -> Verdict {
        if !overloaded {
            return Verdict::Free;
        }
        let Share { bad, of } = round.overloads(n);
        Verdict::Cut(
            KEEP * n,
            Reason::Overloaded {
                overloaded: bad,
                of,
                threshold: accepted,
            },
        )
    }
}

impl Prober {
    /// From limit 1 on, between 1 and 5,000.
    ///
    /// `phase` is the wall clock at the first instant that the law sees, such as the time since the
    /// Unix epoch: clients of one service whose clocks agree measure its latency together.
    pub fn new(phase: Duration) -> Self {
        Self(Estimator::new(phase, Cut))
    }

    /// The limit at first; default 1. A good guess saves the doubling, a bad one costs a few round
    /// trips.
    #[must_use]
    pub fn start(mut self, limit: usize) -> Self {
        self.0.start(limit);
        self
    }

    /// The least limit; default 1.
    ///
    /// # Panics
    ///
    /// If it is 0 or above the greatest.
    #[must_use]
    #[track_caller]
    pub fn min(self, min: usize) -> Self {
        let max = self.bounds().max();
        self.within(Bounds::new(min, max))
    }

    /// The greatest limit; default 5,000.
    ///
    /// # Panics
    ///
    /// If it is below the least.
    #[must_use]
    #[track_caller]
    pub fn max(self, max: usize) -> Self {
        let min = self.bounds().min();
        self.within(Bounds::new(min, max))
    }

    /// Between which limits it moves.
    pub fn bounds(&self) -> Bounds {
        self.0.bounds()
    }

    /// Moves the bounds while it runs, and the limit with them only as far as they ask.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.0.set_bounds(bounds);
    }

    #[track_caller]
    fn within(mut self, bounds: Result<Bounds, Invalid>) -> Self {
        match bounds {
            Ok(bounds) => self.set_bounds(bounds),
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
