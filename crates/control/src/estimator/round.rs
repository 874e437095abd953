use tidegate_core::{Cause, Outcome, Sample};

use super::{LogMean, OVERLOADED};

/// One round: what the answers to requests sent since `t0` say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Since when a request must have been sent to count, seconds.
    pub(crate) t0: f64,
    /// After a decrease: `t0` moves to the first send.
    pub(crate) awaits_send: bool,
    /// Successes.
    pub(crate) successes: u32,
    /// Overloads.
    pub(crate) o: u32,
    /// Those of them that said 429.
    pub(crate) throttled: u32,
    /// Plain failures, of which only the governor takes note.
    pub(crate) failures: u32,
    /// Overloads (for the governor, failures too) of requests sent since `t0`, without the wait.
    pub(crate) eo: u32,
    /// Latencies of successes and timeouts, seconds; their count is `k`.
    pub(crate) g: LogMean,
    /// In flight at their start.
    pub(crate) i: LogMean,
    /// Those of them that timed out.
    pub(crate) timeouts: u32,
    /// Overloads since the last success, however old.
    pub(crate) barren: u32,
    /// All answers, and those that came while the limit was in use.
    answers: u32,
    busy: u32,
}

impl Round {
    /// The next round. What was barren stays so until a success.
    pub(crate) fn after(&self, now: f64, awaits_send: bool) -> Self {
        Self {
            t0: now,
            awaits_send,
            barren: if awaits_send { 0 } else { self.barren },
            ..Self::default()
        }
    }

    pub(crate) fn on_start(&mut self, now: f64) {
        if self.awaits_send {
            self.awaits_send = false;
            self.t0 = now;
        }
    }

    /// Takes note of an answer to a request sent at `started`. `settled`: the wait is over, or
    /// there is none.
    pub(crate) fn on_sample(&mut self, started: f64, settled: bool, busy: bool, sample: &Sample) {
        self.answers = self.answers.saturating_add(1);
        self.busy += u32::from(busy);
        match sample.outcome {
            Outcome::Success => self.barren = 0,
            Outcome::Overload(_) => self.barren = self.barren.saturating_add(1),
            Outcome::Failure | Outcome::Ignored => {}
        }
        if started < self.t0 {
            return;
        }
        self.eo += u32::from(sample.outcome.is_overload());
        if settled {
            self.count(sample);
        }
    }

    fn count(&mut self, sample: &Sample) {
        let timed = match sample.outcome {
            Outcome::Success => {
                self.successes = self.successes.saturating_add(1);
                true
            }
            Outcome::Overload(cause) => {
                self.o = self.o.saturating_add(1);
                self.throttled += u32::from(cause == Cause::Throttled);
                self.timeouts += u32::from(cause == Cause::TimedOut);
                cause == Cause::TimedOut
            }
            Outcome::Failure => {
                self.failures = self.failures.saturating_add(1);
                false
            }
            Outcome::Ignored => false,
        };
        if let Some(latency) = sample.latency.filter(|_| timed) {
            self.g.add(latency.as_secs_f64());
            self.i.add(sample.in_flight_at_start as f64);
        }
    }

    /// Successes and overloads.
    pub(crate) fn m(&self) -> u32 {
        self.successes.saturating_add(self.o)
    }

    /// Whether so many overloads came back that waiting for more would do harm.
    pub(crate) fn early(&self, n: f64) -> bool {
        f64::from(self.eo) >= (0.4 * n).max(3.0)
    }

    /// How many were overloaded, of how many, if that is too many.
    pub(crate) fn overload(&self, n: f64) -> Option<(u32, u32)> {
        let early = self.early(n);
        let overloaded = if early { self.eo.max(self.o) } else { self.o };
        let of = self.successes.saturating_add(overloaded);
        let share = f64::from(overloaded) / f64::from(of.max(1));
        (early || (overloaded >= 3 && share > OVERLOADED)).then_some((overloaded, of))
    }

    /// Overloads and failures.
    pub(crate) fn failed(&self, n: f64) -> u32 {
        let overloaded = if self.early(n) {
            self.eo.max(self.o)
        } else {
            self.o
        };
        overloaded.saturating_add(self.failures)
    }

    /// Whether the limit was in use for at least half of all answers.
    pub(crate) fn saturated(&self) -> bool {
        self.answers > 0 && 2 * u64::from(self.busy) >= u64::from(self.answers)
    }
}
