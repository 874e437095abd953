//! Under a rate that the service limits, and out of it again.

use std::time::Duration;

use tidegate_core::{Cause, Outcome, Pace, Reason, Sample};

use super::rate::{Answer, BURST, Rate};
use super::{Estimator, Phase, Term, Verdict, alpha};

/// What a pause leaves of the limit.
const KEEP: f64 = 0.75;

/// What is left of the number that was refused for being too many.
const BELOW: f64 = 0.9;

/// Seconds without rate mode after it proved wrong; doubled each time.
const DOUBT: f64 = 30.0;

/// A pace or a limit that moves by less is not worth a change.
const NOTABLE: f64 = 0.01;
const NOTABLE_LIMIT: f64 = 0.1;

/// Until when rate mode is not believed in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    until: f64,
    lasts: f64,
}

impl Default for Doubt {
    fn default() -> Self {
        Self {
            until: 0.0,
            lasts: DOUBT,
        }
    }
}

impl Doubt {
    pub(super) fn allows(&self, at: f64) -> bool {
        at >= self.until
    }

    fn grow(&mut self, at: f64) {
        self.until = at + self.lasts;
        self.lasts *= 2.0;
    }
}

impl<T: Term> Estimator<T> {
    /// The service began a pause, outside rate mode: one cut, or a rate if the last cut did not
    /// help.
    pub(super) fn paused(&mut self, at: f64, sample: &Sample) -> Option<Reason> {
        let wait = sample.retry_after.unwrap_or_default();
        if matches!(self.phase, Phase::Dead(_)) {
            return Some(Reason::RetryAfter(wait));
        }
        let throttled = sample.outcome == Outcome::Overload(Cause::Throttled);
        let held = self.hold.is_held(at, self.n);
        let let_through = self.let_through(at, wait);
        if throttled && held && self.doubt.allows(at) {
            return Some(self.enter_rate(at, let_through, true, true));
        }
        let c = self.n;
        self.phase = Phase::Cruise;
        let reason = self.cut(at, Verdict::Cut(KEEP * c, Reason::RetryAfter(wait)));
        self.hold
            .cut_and_pause(at, self.latency, c, wait.as_secs_f64());
        reason
    }

    /// What the service lets through, from one pause to the next: at least what came through with
    /// the pause counted in, at most without it; between them the geometric mean.
    fn let_through(&mut self, at: f64, wait: Duration) -> f64 {
        let cycle = (at - self.let_in).max(1e-3);
        self.let_in = at;
        self.served = 0;
        let with = self.delivered.rate(at, cycle);
        let open = (cycle - wait.as_secs_f64()).max(0.02 * cycle);
        with * (cycle / open).sqrt()
    }

    pub(super) fn enter_rate(
        &mut self,
        at: f64,
        delivered: f64,
        throttled: bool,
        by_overload: bool,
    ) -> Reason {
        let mut rate = Rate::enter(at, delivered, throttled);
        let per_second = rate.r();
        self.phase = Phase::Cruise;
        self.show(&mut rate, by_overload);
        self.rate = Some(rate);
        self.next_round(at, true);
        Reason::RateFound { per_second }
    }

    /// An answer in rate mode.
    pub(super) fn pace(
        &mut self,
        at: f64,
        started: f64,
        paused: bool,
        sample: &Sample,
    ) -> Option<Reason> {
        let mut rate = self.rate.take()?;
        let overload = sample.outcome.is_overload();
        let answer = Answer {
            now: at,
            started,
            in_flight_at_start: sample.in_flight_at_start as f64,
            overload,
            throttled: sample.outcome == Outcome::Overload(Cause::Throttled),
        };
        let cut = rate.on_answer(answer, self.latency, &mut self.delivered);
        let mut reason = cut.map(|cut| Reason::Overloaded {
            overloaded: cut.overloaded,
            of: cut.of,
            threshold: cut.threshold,
        });
        if paused {
            let wait = sample.retry_after.unwrap_or_default();
            rate.on_pause(at, self.let_through(at, wait));
            reason = Some(Reason::RetryAfter(wait));
        }
        if let Some(gone) = self.leave_rate(at, &rate, overload) {
            return Some(gone);
        }
        if reason.is_some() || self.is_notable(&rate, overload) {
            self.show(&mut rate, overload);
            let per_second = rate.r();
            reason = reason.or(Some(Reason::RateTried { per_second }));
        }
        self.rate = Some(rate);
        reason
    }

    /// The four ways out. An overload never raises, so only death comes by one; the pace stays
    /// until the service is back.
    fn leave_rate(&mut self, at: f64, rate: &Rate, by_overload: bool) -> Option<Reason> {
        if by_overload {
            let refuted = rate.is_refuted();
            if refuted {
                self.doubt.grow(at);
            }
            return (refuted || self.is_dead_under_pace(at, rate)).then(|| self.die(at));
        }
        let n = if let Some(met) = rate.concurrency() {
            self.doubt.grow(at);
            self.hold.cut(at, self.latency, met);
            BELOW * met
        } else if rate.is_slack() {
            self.n
        } else {
            self.room_under_pace(at)?
        };
        self.pace = None;
        self.n = self.bounds.clamp(n);
        self.schedule.lowered(self.n);
        self.next_round(at, true);
        let per_second = rate.r();
        Some(Reason::RateGone { per_second })
    }

    /// Where the queue shows that the pace no longer limits, the limit without it.
    fn room_under_pace(&mut self, at: f64) -> Option<f64> {
        let (Some(g), Some(i)) = (self.round.g.mean(), self.round.i.mean()) else {
            return None;
        };
        let enough = f64::from(self.round.m()) >= (2.0 * self.n).clamp(40.0, 400.0);
        if !enough || at <= self.round.t0 + self.latency {
            return None;
        }
        let ln_g0 = *self.ln_g0.get_or_insert(g);
        let (base, load) = ((ln_g0 - g).exp(), i.exp());
        let queued = load * (1.0 - (ln_g0 - g + self.round.margin()).min(0.0).exp());
        self.next_round(at, false);
        (queued > (2.0 * alpha(load)).max(load / 2.0)).then(|| load * base + alpha(load))
    }

    /// Whether nothing but overloads came back for long, though not the ones the pace is about.
    fn is_dead_under_pace(&self, at: f64, rate: &Rate) -> bool {
        let silence = (2.0 * self.latency).max(5.0 / rate.r()).max(1.0);
        let other = !self.round.is_throttled();
        other && self.round.barren >= 10 && at - self.last_success > silence
    }

    fn is_notable(&self, rate: &Rate, by_overload: bool) -> bool {
        let shown = self.pace.map_or(0.0, |pace| pace.rate());
        let limit = self.limit_at(rate);
        let room = NOTABLE_LIMIT * self.n + 1.0;
        let grown = rate.r() > (1.0 + NOTABLE) * shown || limit > self.n + room;
        (grown && !by_overload) || limit < self.n - room
    }

    /// Twice what the rate needs, and two.
    fn limit_at(&self, rate: &Rate) -> f64 {
        self.bounds
            .clamp((2.0 * rate.r() * self.latency + 2.0).ceil())
    }

    fn show(&mut self, rate: &mut Rate, by_overload: bool) {
        let limit = self.limit_at(rate);
        self.n = if by_overload {
            limit.min(self.n)
        } else {
            limit
        };
        let pace = Pace::try_per(rate.tell(), Duration::from_secs(1));
        self.pace = pace.ok().map(|pace| pace.burst(BURST));
    }
}
