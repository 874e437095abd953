use std::time::Instant;

use tidegate_core::{Cause, Outcome, Sample};

use super::LogMean;
use super::clock::seconds;

/// Fewer overloads than these are noise, whatever their share.
const FEW: u32 = 3;

/// So many deviations above the accepted share may be chance: failures at random are about Poisson.
const CHANCE: f64 = 2.0;

/// So many deviations above it are a burst: with less a service that fails at random was held down.
const BURST: f64 = 6.0;

/// So many overloads, in limits, end a round at once.
const EARLY: f64 = 0.3;

/// One round: what the answers to requests sent since `t0` say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    /// Since when a request must have been sent to count, seconds.
    pub(crate) t0: f64,
    /// The same as it came, since comparing instants costs less than turning them into seconds.
    since: Option<Instant>,
    /// The same for overloads: only those sent before the last decrease are old news. A timeout may
    /// take many rounds to come.
    decreased: Option<Instant>,
    /// After a decrease: `t0` moves to the first send.
    awaits_send: bool,
    /// Successes.
    pub(crate) successes: u32,
    /// Overloads.
    pub(crate) o: u32,
    /// Those of them that said 429.
    throttled: u32,
    /// Plain failures, of which only the governor takes note.
    failures: u32,
    /// Overloads of requests sent since `t0`, without the wait.
    pub(crate) eo: u32,
    /// Latencies of successes and timeouts, seconds; their count is `k`.
    pub(crate) g: LogMean,
    /// In flight at their start.
    pub(crate) i: LogMean,
    /// Those of them that timed out.
    timeouts: u32,
    /// Overloads since the last success, however old.
    pub(crate) barren: u32,
    /// How often an overload came after a success.
    pub(crate) turns: u32,
    /// All answers, and those that came while the limit was in use.
    answers: u32,
    busy: u32,
}

impl Round {
    /// The next round. What was barren stays so until a success, or a decrease.
    pub(crate) fn after(&self, t0: f64, since: Option<Instant>, awaits_send: bool) -> Self {
        Self {
            t0,
            since,
            decreased: if awaits_send { since } else { self.decreased },
            awaits_send,
            barren: if awaits_send { 0 } else { self.barren },
            ..Self::default()
        }
    }

    pub(crate) fn awaits_send(&self) -> bool {
        self.awaits_send
    }

    pub(crate) fn on_start(&mut self, t0: f64, since: Option<Instant>) {
        self.awaits_send = false;
        self.t0 = t0;
        self.since = since;
        self.decreased = since;
    }

    /// Whether a request was sent too early to count.
    pub(crate) fn is_old(&self, sample: &Sample) -> bool {
        let since = if sample.outcome.is_overload() {
            self.decreased
        } else {
            self.since
        };
        Some(sample.started) < since
    }

    /// Takes note of an answer. `settled`: the wait is over, or there is none.
    pub(crate) fn on_sample(&mut self, old: bool, settled: bool, busy: bool, sample: &Sample) {
        self.answers = self.answers.saturating_add(1);
        self.busy = self.busy.saturating_add(u32::from(busy));
        match sample.outcome {
            Outcome::Success => self.barren = 0,
            Outcome::Overload(_) => {
                self.turns += u32::from(self.barren == 0);
                self.barren = self.barren.saturating_add(1);
            }
            Outcome::Failure | Outcome::Ignored => {}
        }
        if old {
            return;
        }
        self.eo = self
            .eo
            .saturating_add(u32::from(sample.outcome.is_overload()));
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
            self.g.add(seconds(latency));
            self.i.add(sample.in_flight_at_start as f64);
        }
    }

    /// Successes and overloads.
    pub(crate) fn m(&self) -> u32 {
        self.successes.saturating_add(self.o)
    }

    /// Successes and timeouts with a latency.
    pub(crate) fn k(&self) -> u32 {
        self.g.count()
    }

    /// How far the mean of `ln G` may be off by chance.
    pub(crate) fn margin(&self) -> f64 {
        1.0 / f64::from(self.k()).sqrt()
    }

    /// Whether so many overloads came back that waiting for more would do harm.
    pub(crate) fn early(&self, n: f64) -> bool {
        f64::from(self.eo) >= (EARLY * n).max(f64::from(FEW))
    }

    /// Whether more than the share `accepted` was overloaded.
    pub(crate) fn overloaded(&self, n: f64, accepted: f64) -> bool {
        self.early(n) || (self.overloads(n).bad >= FEW && self.exceeds(n, accepted, CHANCE))
    }

    /// Whether so many overloads came back at once that it was the limit and not chance.
    pub(crate) fn is_burst(&self, n: f64, accepted: f64) -> bool {
        self.early(n) && self.exceeds(n, accepted, BURST)
    }

    /// Whether overloads are more than the share `accepted` and so many deviations.
    fn exceeds(&self, n: f64, accepted: f64, deviations: f64) -> bool {
        let Share { bad, of } = self.overloads(n);
        let expected = accepted * f64::from(of);
        f64::from(bad) > expected + deviations * expected.sqrt()
    }

    /// Overloads among overloads and successes.
    pub(crate) fn overloads(&self, n: f64) -> Share {
        let bad = if self.early(n) {
            self.eo.max(self.o)
        } else {
            self.o
        };
        Share {
            bad,
            of: self.successes.saturating_add(bad),
        }
    }

    /// The same, with plain failures on both sides.
    pub(crate) fn failures(&self, n: f64) -> Share {
        let Share { bad, of } = self.overloads(n);
        Share {
            bad: bad.saturating_add(self.failures),
            of: of.saturating_add(self.failures),
        }
    }

    /// Whether most overloads said 429.
    pub(crate) fn is_throttled(&self) -> bool {
        2 * u64::from(self.throttled) > u64::from(self.o)
    }

    /// Whether most overloads were refusals that came back, not timeouts.
    pub(crate) fn is_refused(&self) -> bool {
        u64::from(self.o) > 2 * u64::from(self.timeouts)
    }

    /// Whether the limit was in use for at least half of all answers.
    pub(crate) fn saturated(&self) -> bool {
        self.answers > 0 && 2 * u64::from(self.busy) >= u64::from(self.answers)
    }
}

/// So many of so many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) bad: u32,
    pub(crate) of: u32,
}
