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
    bounds: Bounds,
    clock: Clock,
    shared: f64,
    phase: Phase,
    n: f64,
    latency: f64,
    ln_g0: Option<f64>,
    round: Round,
    c: f64,
    worked: f64,
    worked_until: f64,
    cycle: f64,
    no_rate_until: f64,
    no_rate_for: f64,
    dead_429: u32,
    dead_all: u32,
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

pub(crate) fn knob(i: usize, default: f64) -> f64 {
    static K: std::sync::OnceLock<Vec<Option<f64>>> = std::sync::OnceLock::new();
    let k = K.get_or_init(|| {
        (0..64)
            .map(|i| std::env::var(format!("K{i}")).ok().map(|v| v.parse().unwrap()))
            .collect()
    });
    k[i].unwrap_or(default)
}

fn alpha(n: f64) -> f64 {
    (knob(0, 1.5) + knob(1, 1.0) * n.sqrt()).min(n * knob(2, 0.5))
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
            worked: 0.0,
            worked_until: 0.0,
            cycle: 0.0,
            no_rate_until: 0.0,
            no_rate_for: 30.0,
            dead_429: 0,
            dead_all: 0,
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

    pub(crate) fn start(&mut self, limit: usize) {
        self.n = self.bounds.clamp(limit as f64);
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
        self.n = bounds.clamp(self.n);
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
        let cycle = at - self.cycle;
        if paused {
            self.cycle = at;
        }
        if paused && !matches!(self.phase, Phase::Rate(_) | Phase::Dead { .. }) {
            let wait = sample.retry_after.map_or(0.0, |wait| wait.as_secs_f64());
            if at < self.held_until && self.n <= self.c - 1.0 && at >= self.no_rate_until && sample.outcome == Outcome::Overload(tidegate_core::Cause::Throttled) {
                let r = self.cycle_rate(at, cycle, wait);
                return Some(self.enter_rate(at, r, true));
            }
            let reason = Reason::RetryAfter(sample.retry_after.unwrap_or_default());
            self.phase = Phase::Cruise;
            let reason = self.cut(at, Verdict::Cut(0.75 * self.n, reason));
            self.held_until += wait;
            return reason;
        }
        if let Phase::Rate(_) = self.phase {
            return self.rate_step(at, started, paused.then_some(cycle), sample);
        }
        let mut reason = None;
        match self.phase {
            Phase::Dead { pause } if overload => {
                self.dead_all += 1;
                self.dead_429 += u32::from(sample.outcome == Outcome::Overload(tidegate_core::Cause::Throttled));
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
            Phase::Dead { .. } if success && self.n <= self.bounds.min() as f64 && 2 * self.dead_429 > self.dead_all && self.dead_all >= 3 && at >= self.no_rate_until => {
                let r = self.delivered.rate(at, at - self.cycle);
                self.cycle = at;
                return Some(self.enter_rate(at, r, false));
            }
            Phase::Dead { .. } if success => {
                self.cycle = at;
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

    fn is_dead(&self, at: f64) -> bool {
        self.round.barren >= 3 && at - self.last_success > 2.0 * self.latency
    }

    /// Rules 1 to 6, if the round has ended.
    fn end(&mut self, at: f64, overload: bool) -> Option<Reason> {
        let early = self.round.early(self.n);
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
        let overloaded = self.round.overload(self.n).is_some();
        if overload && !overloaded {
            return None;
        }
        let throttled = 2 * self.round.throttled > self.round.o && at >= self.no_rate_until;
        let held = at < self.held_until && self.n <= self.c - 1.0 + 1e-9;
        let worked = if at < self.worked_until { self.worked } else { 0.0 };
        if overloaded && throttled && ((held && worked >= knob(6, 0.9) * self.n) || self.n <= knob(7, 0.8) * worked) {
            let r = self.delivered.rate(at, self.latency.max(0.3));
            return Some(self.enter_rate(at, r, true));
        }
        if !overloaded && self.round.saturated() && (self.n >= worked) {
            self.worked = self.n;
            self.worked_until = at + self.latency.max(5.0);
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
            self.dead_all = 0;
            self.dead_429 = 0;
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
        let before = self.n;
        self.n = self.bounds.clamp(self.n + d);
        if at < self.held_until {
            self.n = self.n.min(self.bounds.clamp(self.c - 1.0));
        }
        self.d = if knob(3, 1.0) > 0.0 { self.n - before } else { d };
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
        self.n = self.bounds.clamp((self.n * knob(5, 0.5)).floor());
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
        while period < knob(4, 20.0) * self.latency {
            period *= 2.0;
        }
        let wall = self.shared + at;
        self.probe_at = at + period - wall % period;
        self.restart(at, false);
    }

    fn cycle_rate(&mut self, at: f64, cycle: f64, wait: f64) -> f64 {
        let with = self.delivered.rate(at, cycle);
        let without = with * cycle / (cycle - wait).max(0.02 * cycle);
        (with * without).sqrt()
    }

    fn enter_rate(&mut self, at: f64, r: f64, overload: bool) -> Reason {
        let rate = Rate::enter(at, r);
        let per_second = rate.r;
        let limit = (2.0 * rate.r * self.latency + 2.0).ceil();
        self.n = self.bounds.clamp(if overload { self.n.min(limit) } else { limit });
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
        paused: Option<f64>,
        sample: &Sample,
    ) -> Option<Reason> {
        let cycle_rate = paused.map(|cycle| self.cycle_rate(at, cycle, sample.retry_after.map_or(0.0, |wait| wait.as_secs_f64())));
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
        if let Some(found) = cycle_rate {
            rate.on_pause(at, found);
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
        if started >= rate.entered + knob(15, 1.0) {
            rate.in_flight.add(at, knob(14, 1.0) * self.latency, sample);
        }
        if let Some(at_k) = rate.in_flight.concurrency() {
            self.no_rate_until = at + self.no_rate_for;
            self.no_rate_for *= 2.0;
            self.phase = Phase::Cruise;
            self.pace = None;
            self.c = at_k;
            self.held_until = at + self.latency.max(5.0);
            let n = self.bounds.clamp(at_k * 0.9);
            self.n = if overload { self.n.min(n) } else { n };
            self.restart(at, true);
            return Some(Reason::RateGone { per_second: r });
        }
        if at - rate.bound >= 60.0 {
            self.phase = Phase::Cruise;
            self.pace = None;
            self.restart(at, false);
            return Some(Reason::RateGone { per_second: r });
        }
        let limit = (2.0 * r * self.latency + 2.0).ceil();
        if reason.is_some() || limit < 0.9 * self.n - 1.0 || (!overload && limit > 1.1 * self.n + 1.0) {
            let limit = self.bounds.clamp(limit);
            self.n = if overload { limit.min(self.n) } else { limit };
            self.publish();
            reason = reason.or(Some(Reason::RateTried { per_second: r }));
        }
        reason
    }
}
