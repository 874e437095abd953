mod clock;
mod delivered;
mod log_mean;
mod rate;
mod round;

use std::time::{Duration, Instant};

use tidegate_core::{Change, Outcome, Pace, Reason, Sample, Setting};

use crate::Bounds;
use crate::pause::Pause;
use clock::Clock;
use delivered::Delivered;
use log_mean::LogMean;
use rate::Rate;
pub(crate) use round::Round;

pub(crate) const OVERLOADED: f64 = 0.06;

/// What a law does about failures: the one point where the laws on this estimator differ.
pub(crate) trait Term: std::fmt::Debug {
    /// Whether [`Outcome::Failure`] counts as overload does.
    const COUNTS_FAILURES: bool;

    /// What the failures of a round ask for at limit `n`.
    fn judge(&mut self, n: f64, round: &Round) -> Verdict;
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// Nothing: the queue alone decides.
    Free,
    /// A move of at most this.
    AtMost(f64, Reason),
    /// This limit, and no growth to the old one for a while.
    Cut(f64, Reason),
}

#[derive(Clone, Debug)]
enum Phase {
    Start,
    Cruise,
    Probe(Probe),
    Dead { pause: f64 },
    Rate(Rate),
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    n_before: f64,
    g: LogMean,
    i: LogMean,
}

#[derive(Clone, Debug)]
pub(crate) struct Estimator<T> {
    pub(crate) term: T,
    pub(crate) bounds: Bounds,
    clock: Clock,
    shared: f64,
    phase: Phase,
    pub(crate) n: f64,
    latency: f64,
    ln_g0: Option<f64>,
    round: Round,
    c: f64,
    worked: bool,
    held_until: f64,
    d: f64,
    g_ref: LogMean,
    i_ref: LogMean,
    probe_at: f64,
    last_success: f64,
    delivered: Delivered,
    pause: Pause,
    pace: Option<Pace>,
}

fn alpha(n: f64) -> f64 {
    (1.5 + n.sqrt()).min(n / 2.0)
}

impl<T: Term> Estimator<T> {
    pub(crate) fn new(phase: Duration, term: T) -> Self {
        Self {
            term,
            bounds: Bounds::default(),
            clock: Clock::default(),
            shared: phase.as_secs_f64(),
            phase: Phase::Start,
            n: 1.0,
            latency: 0.0,
            ln_g0: None,
            round: Round::default(),
            c: f64::INFINITY,
            worked: false,
            held_until: 0.0,
            d: 0.0,
            g_ref: LogMean::default(),
            i_ref: LogMean::default(),
            probe_at: 0.0,
            last_success: 0.0,
            delivered: Delivered::default(),
            pause: Pause::default(),
            pace: None,
        }
    }

    pub(crate) fn on_start(&mut self, now: Instant) {
        let now = self.clock.advance(now);
        self.round.on_start(now);
        if let Phase::Rate(rate) = &mut self.phase {
            rate.on_start(now);
        }
    }

    pub(crate) fn setting(&self) -> Setting {
        Setting {
            limit: self.n,
            pace: self.pace,
            pause_until: self.pause.until(),
        }
    }

    pub(crate) fn move_to(&mut self, now: Instant, limit: f64) {
        let now = self.clock.advance(now);
        if !limit.is_finite() {
            return;
        }
        self.n = self.bounds.clamp(limit);
        self.phase = Phase::Cruise;
        self.pace = None;
        self.held_until = now;
        self.restart(now, true);
    }

    pub(crate) fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        if sample.outcome == Outcome::Ignored {
            return None;
        }
        let from = self.setting();
        let paused = sample
            .retry_after
            .is_some_and(|wait| self.pause.extend(now, now, wait));
        let at = self.clock.advance(now);
        let reason = self.step(now, at, paused, sample);
        let reason =
            reason.or_else(|| Some(Reason::RetryAfter(sample.retry_after.filter(|_| paused)?)));
        let to = self.setting();
        reason
            .filter(|_| to != from)
            .map(|reason| Change { from, to, reason })
    }

    fn step(&mut self, now: Instant, at: f64, paused: bool, sample: &Sample) -> Option<Reason> {
        let started = self.clock.seconds(sample.started);
        let success = sample.outcome.is_success();
        let overload = sample.outcome.is_overload();
        if success {
            self.note_success(at, sample);
        }
        let n = self.n.floor();
        let busy = sample.in_flight as f64 >= (0.9 * n).floor().max(1.0);
        let starting = matches!(self.phase, Phase::Start);
        let settled = starting || at >= self.round.t0 + self.latency;
        let counted_from = if starting {
            f64::NEG_INFINITY
        } else {
            self.round.t0
        };
        if started >= counted_from || true {
            self.round.on_sample(
                if starting {
                    started.max(self.round.t0)
                } else {
                    started
                },
                settled,
                busy,
                sample,
            );
        }
        if let Phase::Rate(_) = self.phase {
            return self.rate_step(at, started, paused, sample);
        }
        let mut reason = None;
        match self.phase {
            Phase::Dead { pause } if overload => {
                if self.n <= self.bounds.min() as f64 {
                    self.pause
                        .extend(now, sample.started, Duration::from_secs_f64(pause));
                    self.phase = Phase::Dead {
                        pause: (2.0 * pause).min(1.0),
                    };
                    reason = Some(Reason::Dead {
                        overloads: self.round.barren,
                    });
                }
            }
            Phase::Dead { .. } if success => {
                self.phase = Phase::Start;
                self.restart(at, false);
                self.n = self.bounds.clamp(self.n + 1.0);
                reason = Some(Reason::Alive);
            }
            Phase::Start if success && busy => {
                self.n = self.bounds.clamp(self.n + 1.0);
                reason = Some(Reason::Starting);
            }
            _ => {}
        }
        self.end(at, overload).or(reason)
    }

    fn note_success(&mut self, at: f64, sample: &Sample) {
        self.last_success = at;
        self.delivered.record(at);
        if let Some(latency) = sample.latency {
            let latency = latency.as_secs_f64();
            if self.latency == 0.0 {
                self.latency = latency;
            } else {
                self.latency += (latency.min(5.0 * self.latency) - self.latency) / 20.0;
            }
        }
    }

    fn restart(&mut self, at: f64, decreased: bool) {
        self.round = self.round.after(at, decreased);
    }

    fn overloaded(&self) -> bool {
        let Round { o, eo, .. } = self.round;
        (o >= 3 && f64::from(o) > OVERLOADED * f64::from(self.round.m()))
            || f64::from(eo) >= (0.4 * self.n).max(3.0)
    }

    fn is_dead(&self, at: f64) -> bool {
        self.round.barren >= 3 && at - self.last_success > 2.0 * self.latency
    }

    /// Rules 1 to 6, if the round has ended.
    fn end(&mut self, at: f64, overload: bool) -> Option<Reason> {
        let early = f64::from(self.round.eo) >= (0.4 * self.n).max(3.0);
        let barren = f64::from(self.round.barren) >= self.n.max(3.0) && self.is_dead(at);
        let starting = matches!(self.phase, Phase::Start);
        let needed = if starting {
            (self.n / 2.0).clamp(24.0, 300.0)
        } else {
            (2.0 * self.n).clamp(16.0, 400.0)
        };
        let full = f64::from(self.round.m()) >= needed && at > self.round.t0 + self.latency;
        if !(early || barren || full) {
            return None;
        }
        if self.is_dead(at) {
            return Some(self.die(at));
        }
        let overloaded = self.overloaded();
        if overload && !overloaded {
            return None;
        }
        let held = at < self.held_until && self.n <= self.c - 1.0 + 1e-9;
        if overloaded && held && self.worked && 2 * self.round.throttled > self.round.o {
            return Some(self.enter_rate(at));
        }
        if !overloaded && self.n <= self.c - 1.0 {
            self.worked = true;
        }
        let verdict = self.term.judge(self.n, &self.round);
        match self.phase {
            Phase::Start => self.started(at, verdict),
            Phase::Probe(probe) => self.probed(at, probe, verdict),
            _ => self.cruise(at, verdict),
        }
    }

    fn die(&mut self, at: f64) -> Reason {
        let overloads = self.round.barren;
        self.n = self.bounds.clamp((self.n / 2.0).max(1.0));
        if !matches!(self.phase, Phase::Dead { .. }) {
            self.phase = Phase::Dead { pause: 0.05 };
        }
        self.restart(at, true);
        Reason::Dead { overloads }
    }

    fn queued(&self) -> (f64, f64) {
        let (Some(g), Some(g0)) = (self.round.g.mean(), self.ln_g0) else {
            return (0.0, 1.0);
        };
        let growth = g - g0;
        let margin = 1.0 / f64::from(self.round.g.count()).sqrt();
        (
            self.n * (1.0 - (-(growth - margin).max(0.0)).exp()),
            growth.exp(),
        )
    }

    fn started(&mut self, at: f64, verdict: Verdict) -> Option<Reason> {
        if self.ln_g0.is_none() {
            self.ln_g0 = self.round.g.mean();
        }
        let (queued, growth) = self.queued();
        let (g, i) = (self.round.g, self.round.i);
        let reason = match verdict {
            Verdict::Cut(..) | Verdict::AtMost(..) => self.cut(at, verdict),
            Verdict::Free if queued > self.n / 2.0 => {
                let n = self.n * (1.0 / growth).max(0.4) + alpha(self.n);
                self.n = self.bounds.clamp(n.min(self.n));
                Some(Reason::Queued { growth, queued })
            }
            Verdict::Free => {
                self.restart(at, false);
                return None;
            }
        };
        self.probe(
            at,
            Probe {
                n_before: self.n,
                g,
                i,
            },
        );
        reason
    }

    fn cut(&mut self, at: f64, verdict: Verdict) -> Option<Reason> {
        let (n, reason) = match verdict {
            Verdict::Free => return None,
            Verdict::AtMost(dn, reason) => (self.n + dn, reason),
            Verdict::Cut(n, reason) => (n, reason),
        };
        self.c = self.n;
        self.worked = false;
        self.held_until = at + self.latency.max(5.0);
        self.n = self.bounds.clamp(n);
        self.d = 0.0;
        self.g_ref = LogMean::default();
        self.i_ref = LogMean::default();
        self.restart(at, true);
        Some(reason)
    }

    fn cruise(&mut self, at: f64, verdict: Verdict) -> Option<Reason> {
        if let Verdict::Cut(..) = verdict {
            return self.cut(at, verdict);
        }
        let (queued, growth) = self.queued();
        let target = alpha(self.n);
        let saturated = self.round.saturated();
        let mut d = 0.5 * (target - queued);
        let mut reason = if d < 0.0 {
            Reason::Queued { growth, queued }
        } else {
            Reason::Room { queued, target }
        };
        match verdict {
            Verdict::AtMost(most, why) => {
                if most < d {
                    d = most;
                    reason = why;
                }
            }
            _ => {
                if queued < target / 2.0 {
                    d = d.max(1.5 * self.d).min(self.n / 2.0);
                }
            }
        }
        if d > 0.0 && !saturated {
            d = 0.0;
        }
        self.d = d;
        let before = self.n;
        self.n = self.bounds.clamp(self.n + d);
        if at < self.held_until {
            self.n = self.n.min(self.bounds.clamp(self.c - 1.0));
        }
        self.g_ref.merge(&self.round.g);
        self.i_ref.merge(&self.round.i);
        if at >= self.probe_at && saturated && self.n >= 2.0 {
            let (g, i) = (self.g_ref, self.i_ref);
            self.probe(
                at,
                Probe {
                    n_before: self.n,
                    g,
                    i,
                },
            );
            return Some(Reason::Probing);
        }
        self.restart(at, self.n < before);
        Some(reason)
    }

    fn probe(&mut self, at: f64, probe: Probe) {
        self.n = self.bounds.clamp((self.n / 2.0).floor());
        self.phase = Phase::Probe(probe);
        self.restart(at, true);
    }

    fn probed(&mut self, at: f64, probe: Probe, verdict: Verdict) -> Option<Reason> {
        if let Verdict::Cut(..) = verdict {
            self.finish_probe(at);
            return self.cut(at, verdict);
        }
        let k = self.round.g.count();
        let (Some(g), Some(g_ref), Some(i), Some(i_ref)) = (
            self.round.g.mean(),
            probe.g.mean(),
            self.round.i.mean(),
            probe.i.mean(),
        ) else {
            self.n = probe.n_before;
            self.finish_probe(at);
            return Some(Reason::ProbeFailed);
        };
        let e = (g_ref - g) / (i_ref - i).max(0.3);
        if e > 0.5 && k >= 8 && self.n >= 2.0 {
            self.ln_g0 = Some(self.ln_g0.map_or(g, |g0| g0.min(g)));
            self.probe(at, probe);
            return Some(Reason::Probing);
        }
        self.ln_g0 = Some(g);
        let n = probe.n_before * (g - g_ref).exp() + alpha(probe.n_before);
        self.n = n.max(self.n).min(probe.n_before);
        self.finish_probe(at);
        Some(Reason::Probed {
            base: Duration::from_secs_f64(g.exp()),
        })
    }

    fn finish_probe(&mut self, at: f64) {
        self.phase = Phase::Cruise;
        self.d = 0.0;
        self.g_ref = LogMean::default();
        self.i_ref = LogMean::default();
        let mut period = 10.0;
        while period < 20.0 * self.latency {
            period *= 2.0;
        }
        let wall = self.shared + at;
        self.probe_at = at + period - wall % period;
        self.restart(at, false);
    }

    fn enter_rate(&mut self, at: f64) -> Reason {
        let rate = Rate::enter(at, self.latency, &mut self.delivered);
        let per_second = rate.r;
        self.n = self
            .bounds
            .clamp(self.n.min((2.0 * rate.r * self.latency + 2.0).ceil()));
        self.phase = Phase::Rate(rate);
        self.publish();
        self.restart(at, true);
        Reason::RateFound { per_second }
    }

    fn publish(&mut self) {
        if let Phase::Rate(rate) = &self.phase {
            self.pace = Pace::try_per(rate.r, Duration::from_secs(1))
                .ok()
                .map(|pace| pace.burst(rate::BURST));
        }
    }

    fn rate_step(
        &mut self,
        at: f64,
        started: f64,
        paused: bool,
        sample: &Sample,
    ) -> Option<Reason> {
        let Phase::Rate(rate) = &mut self.phase else {
            return None;
        };
        let overload = sample.outcome.is_overload();
        let cut = rate.on_sample(at, started, overload, self.latency, &mut self.delivered);
        let mut reason = cut.map(|cut| Reason::Overloaded {
            overloaded: cut.overloaded,
            of: cut.of,
            threshold: cut.threshold,
        });
        if paused {
            rate.on_pause(at);
            reason = Some(Reason::RetryAfter(sample.retry_after.unwrap_or_default()));
        }
        if reason.is_none() && !overload {
            rate.grow(at);
            let shown = self.pace.map_or(0.0, |pace| pace.rate());
            if rate.r > 1.01 * shown {
                reason = Some(Reason::RateTried { per_second: rate.r });
            }
        }
        let r = rate.r;
        if at - rate.bound >= 60.0 {
            self.phase = Phase::Cruise;
            self.pace = None;
            self.restart(at, false);
            return Some(Reason::RateGone { per_second: r });
        }
        let limit = (2.0 * r * self.latency + 2.0).ceil();
        if reason.is_some() || limit < self.n {
            let limit = self.bounds.clamp(limit);
            self.n = if overload { limit.min(self.n) } else { limit };
            self.publish();
        }
        reason
    }
}
