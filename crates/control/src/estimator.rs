//! The estimator that the prober and the governor share. Its rules stand in `docs/rules.md`, in the
//! words of the fields below.

mod clock;
mod crowding;
mod delivered;
mod hold;
mod log_mean;
mod noise;
mod outage;
mod probe;
mod rate;
mod rate_mode;
mod round;
mod rules;
mod term;

use std::time::{Duration, Instant};

use tidegate_core::{Cause, Change, Outcome, Pace, Reason, Sample, Setting};

use crate::Bounds;
use crate::in_use::in_use_from;
use crate::pause::{Pause, Quiet};
use clock::Clock;
use delivered::Delivered;
use hold::Hold;
use log_mean::LogMean;
use noise::Noise;
use outage::Outage;
use probe::{Pool, Probe, Schedule};
use rate::Rate;
use rate_mode::Doubt;
pub(crate) use round::{Round, Share};
pub(crate) use term::{Term, Verdict};

#[derive(Clone, Debug)]
pub(crate) struct Estimator<T> {
    pub(crate) term: T,
    bounds: Bounds,
    clock: Clock,
    /// The limit.
    n: f64,
    /// `L`, seconds; 0 before the first success.
    latency: f64,
    last_success: f64,
    /// `ln G0`.
    ln_g0: Option<f64>,
    round: Round,
    phase: Phase,
    /// The last move in cruise.
    d: f64,
    /// Rounds of cruise since the last probe or cut.
    reference: Pool,
    schedule: Schedule,
    hold: Hold,
    noise: Noise,
    outage: Outage,
    /// In rate mode.
    rate: Option<Rate>,
    pace: Option<Pace>,
    doubt: Doubt,
    delivered: Delivered,
    /// When the service last let us in again, after a pause or an outage.
    let_in: f64,
    /// Successes since then.
    served: u32,
    /// Outages in a row, each soon after the one before.
    relapses: u32,
    pause: Pause,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Doubles each round trip, up to a limit that worked before an outage.
    Start {
        up_to: f64,
    },
    Cruise,
    Probe(Probe),
    Dead(Dead),
}

impl Phase {
    const START: Self = Self::Start {
        up_to: f64::INFINITY,
    };
}

/// What came back since the service died.
#[derive(Clone, Copy, Debug)]
struct Dead {
    /// How long to wait after the next send, seconds.
    pause: f64,
    overloads: u32,
    throttled: u32,
    timeouts: u32,
}

impl<T: Term> Estimator<T> {
    pub(crate) fn new(phase: Duration, term: T) -> Self {
        Self {
            term,
            bounds: Bounds::default(),
            clock: Clock::default(),
            n: 1.0,
            latency: 0.0,
            last_success: 0.0,
            ln_g0: None,
            round: Round::default(),
            phase: Phase::START,
            d: 0.0,
            reference: Pool::default(),
            schedule: Schedule::new(phase.as_secs_f64()),
            hold: Hold::default(),
            noise: Noise::default(),
            outage: Outage::default(),
            rate: None,
            pace: None,
            doubt: Doubt::default(),
            delivered: Delivered::default(),
            let_in: 0.0,
            served: 0,
            relapses: 0,
            pause: Pause::default(),
        }
    }

    pub(crate) fn start(&mut self, limit: usize) {
        self.n = self.bounds.clamp(limit as f64);
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.n = bounds.clamp(self.n);
        if let Phase::Probe(probe) = &mut self.phase {
            probe.n_before = bounds.clamp(probe.n_before);
        }
    }

    pub(crate) fn setting(&self) -> Setting {
        Setting {
            limit: self.n,
            pace: self.pace,
            pause_until: self.pause.until(),
        }
    }

    /// Goes on from `limit`, out of start, probe and rate mode.
    pub(crate) fn move_to(&mut self, now: Instant, limit: f64) {
        if !limit.is_finite() {
            return;
        }
        let now = self.clock.advance(now);
        self.n = self.bounds.clamp(limit);
        self.phase = Phase::Cruise;
        self.rate = None;
        self.pace = None;
        self.d = 0.0;
        self.reference = Pool::default();
        self.outage.end();
        self.hold.release();
        self.schedule.plan(now, self.latency, self.n);
        self.next_round(now, true);
    }

    pub(crate) fn watches_starts(&self) -> bool {
        !self.clock.has_begun() || self.round.awaits_send() || self.rate.is_some()
    }

    pub(crate) fn on_start(&mut self, now: Instant) {
        if !self.watches_starts() {
            return;
        }
        self.clock.begin(now);
        let at = self.clock.advance(now);
        if self.round.awaits_send() {
            self.round.on_start(at, self.clock.latest());
        }
        if let Some(rate) = &mut self.rate {
            rate.on_start(at);
        }
    }

    pub(crate) fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        if sample.outcome == Outcome::Ignored {
            return None;
        }
        let from = self.setting();
        let quiet = sample
            .retry_after
            .map_or(Quiet::Same, |wait| self.pause.extend(now, now, wait));
        let asked = || sample.retry_after.map(Reason::RetryAfter);
        let moved = self.step(now, quiet == Quiet::Begun, sample);
        let reason = moved.or_else(asked)?;
        let to = self.setting();
        (from != to).then_some(Change { from, to, reason })
    }

    fn step(&mut self, now: Instant, paused: bool, sample: &Sample) -> Option<Reason> {
        let at = self.clock.advance(now);
        if sample.outcome.is_success() {
            self.note_success(at, sample);
        }
        let starting = matches!(self.phase, Phase::Start { .. }) && self.rate.is_none();
        // While starting every answer counts: the limit only grew since it was sent.
        let old = !starting && (self.round.is_old(sample) || self.was_let_in_before(sample));
        let settled = starting || at >= self.round.t0 + self.latency;
        let busy = sample.in_flight >= in_use_from(self.n);
        self.round.on_sample(old, settled, busy, sample);
        let back = self.back(sample);
        if self.rate.is_some() {
            let started = self.clock.seconds(sample.started);
            return self.pace(at, started, paused, sample);
        }
        let moved = if paused {
            self.paused(at, sample)
        } else {
            self.revived_or_grown(now, at, busy, back, sample)
        };
        if paused || self.rate.is_some() {
            return moved;
        }
        self.end_round(at, sample.outcome.is_overload()).or(moved)
    }

    /// Whether it was let in under a larger limit and went out after the decrease: a permit is given
    /// before it is used, and two things may happen in one tick of the clock.
    fn was_let_in_before(&self, sample: &Sample) -> bool {
        let above = sample.in_flight_at_start as f64 > self.n.max(1.0);
        above && self.clock.seconds(sample.started) <= self.round.t0 + self.latency
    }

    fn note_success(&mut self, at: f64, sample: &Sample) {
        self.last_success = at;
        self.delivered.record(at);
        self.served = self.served.saturating_add(1);
        let Some(latency) = sample.latency.map(clock::seconds) else {
            return;
        };
        if self.latency > 0.0 {
            self.latency += 0.05 * (latency.min(5.0 * self.latency) - self.latency);
        } else {
            self.latency = latency;
        }
    }

    fn next_round(&mut self, at: f64, decreased: bool) {
        self.round = self.round.after(at, self.clock.latest(), decreased);
    }

    /// What a single answer moves: the doubling at the start, and the way out of an outage.
    fn revived_or_grown(
        &mut self,
        now: Instant,
        at: f64,
        busy: bool,
        back: Option<f64>,
        sample: &Sample,
    ) -> Option<Reason> {
        let moved = match (self.phase, sample.outcome) {
            (Phase::Start { up_to }, Outcome::Success) if busy => {
                self.n = self.bounds.clamp(self.n + 1.0);
                if self.n >= up_to {
                    self.restored(at);
                }
                Some(Reason::Starting)
            }
            (Phase::Dead(dead), Outcome::Success) => Some(self.revive(at, dead, back)),
            (Phase::Dead(dead), Outcome::Overload(cause)) => {
                self.stay_dead(now, dead, cause, sample)
            }
            _ => None,
        };
        let back = back.filter(|_| self.rate.is_none());
        let restored = back.and_then(|limit| self.restore(at, limit, busy));
        moved.or(restored)
    }

    fn stay_dead(
        &mut self,
        now: Instant,
        mut dead: Dead,
        cause: Cause,
        sample: &Sample,
    ) -> Option<Reason> {
        dead.overloads = dead.overloads.saturating_add(1);
        dead.throttled += u32::from(cause == Cause::Throttled);
        dead.timeouts += u32::from(cause == Cause::TimedOut);
        let least = self.n <= self.bounds.clamp(1.0);
        if least {
            let wait = Duration::from_secs_f64(dead.pause);
            self.pause.extend(now, sample.started, wait);
            dead.pause = (2.0 * dead.pause).min(rules::LONGEST_PAUSE);
        }
        self.phase = Phase::Dead(dead);
        let overloads = self.round.barren;
        least.then_some(Reason::Dead { overloads })
    }
}

/// How many of our requests may stand in a queue at limit `n`.
fn alpha(n: f64) -> f64 {
    (1.5 + n.sqrt()).min(n / 2.0)
}
