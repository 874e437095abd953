//! What the laws' own tests share.

use std::time::{Duration, Instant};

use tidegate_core::{Cause, Change, Controller, Outcome, Sample};

/// A law and a clock that only the test moves.
pub(crate) struct Trial<L> {
    pub(crate) law: L,
    pub(crate) now: Instant,
}

pub(crate) const THROTTLED: Outcome = Outcome::Overload(Cause::Throttled);
pub(crate) const UNAVAILABLE: Outcome = Outcome::Overload(Cause::Unavailable);

impl<L: Controller> Trial<L> {
    pub(crate) fn new(law: L) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin for instants by addition"
        )]
        let now = Instant::now() + Duration::from_secs(1_000);
        Self { law, now }
    }

    pub(crate) fn limit(&self) -> f64 {
        self.law.setting().limit
    }

    pub(crate) fn wait(&mut self, by: Duration) {
        self.now += by;
    }

    /// An answer now to a request sent `latency` ago, with the whole limit in use.
    pub(crate) fn answer(&mut self, latency: Duration, outcome: Outcome) -> Option<Change> {
        let in_flight = self.limit() as usize;
        self.answer_with(in_flight, latency, outcome)
    }

    pub(crate) fn answer_with(
        &mut self,
        in_flight: usize,
        latency: Duration,
        outcome: Outcome,
    ) -> Option<Change> {
        let sample = Sample {
            started: self.now.checked_sub(latency).expect("now is late enough"),
            latency: Some(latency),
            in_flight_at_start: in_flight,
            in_flight,
            outcome,
            retry_after: None,
        };
        self.law.on_sample(self.now, &sample)
    }

    /// The whole limit is sent at once and answered together, `latency` later, by a caller who uses
    /// a freed permit at once.
    pub(crate) fn wave(&mut self, latency: Duration, outcome: Outcome) -> Vec<Change> {
        let limit = self.limit() as usize;
        for sent in 1..=limit {
            self.law.on_start(self.now, sent);
        }
        self.wait(latency);
        (0..limit)
            .filter_map(|_| self.answer(latency, outcome))
            .collect()
    }
}
