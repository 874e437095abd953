use std::time::Duration;

use tidegate_core::{Cause, Controller, Outcome, Sample};

use crate::clock::Clock;

/// Answers for a law to learn from, one after another in virtual time.
pub(super) struct Feed {
    clock: Clock,
    now: u64,
    pub(super) rtt: u64,
}

impl Feed {
    /// Each answer took so many milliseconds.
    pub(super) fn new(rtt: u64) -> Self {
        Self {
            clock: Clock::new(),
            now: 0,
            rtt,
        }
    }

    /// So many answers to a client at its limit, all sent at one time, a round trip ago.
    pub(super) fn round(&mut self, law: &mut dyn Controller, count: u32, outcome: Outcome) {
        let started = self.clock.instant(self.now);
        self.now += 1_000_000 * self.rtt;
        for _ in 0..count {
            let in_flight = law.setting().limit as usize;
            law.on_start(started, in_flight);
            let sample = Sample {
                started,
                latency: Some(Duration::from_millis(self.rtt)),
                in_flight_at_start: in_flight,
                in_flight,
                outcome,
                retry_after: None,
            };
            law.on_sample(self.clock.instant(self.now), &sample);
        }
    }

    pub(super) fn succeed(&mut self, law: &mut dyn Controller, count: u32) {
        self.round(law, count, Outcome::Success);
    }

    pub(super) fn refuse(&mut self, law: &mut dyn Controller, count: u32) {
        self.round(law, count, Outcome::Overload(Cause::Unavailable));
    }
}

/// The usable limit.
pub(super) fn limit(law: &dyn Controller) -> u32 {
    law.setting().limit as u32
}
