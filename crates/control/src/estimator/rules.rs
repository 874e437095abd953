//! The rules at the end of a round.

use std::time::Duration;

use tidegate_core::Reason;

use super::{Dead, Estimator, Phase, Pool, Probe, Term, Verdict, alpha};

/// Pauses after a send to a dead service, seconds.
const FIRST_PAUSE: f64 = 0.05;
pub(super) const LONGEST_PAUSE: f64 = 1.0;

/// Deaths so soon after a revival, time and again, are no outages; seconds.
const RELAPSE: f64 = 5.0;

/// What one request in flight is refused, as a share, if its rate is the cause.
const ALONE: f64 = 0.3;

/// Seconds over which the delivered rate is measured on entry; with one in flight answers are rare.
const SPAN: f64 = 0.3;
const SPAN_ALONE: f64 = 2.0;

/// What the end of the start leaves of the limit at least, before α.
const DRAIN: f64 = 0.4;

/// How far the probe at the end of the start may raise the base: other clients may be starting too,
/// and then half of ours is not half of the queue.
const UNALIGNED_RISE: f64 = 1.6;

/// Answers that a probe needs before it halves again.
const PROBE_ANSWERS: u32 = 8;

impl<T: Term> Estimator<T> {
    /// The first rule that fits, if the round has ended.
    pub(super) fn end_round(&mut self, at: f64, by_overload: bool) -> Option<Reason> {
        let dead = self.is_dead(at);
        if !(self.is_full(at) || self.round.early(self.n) || (dead && self.is_barren())) {
            return None;
        }
        if dead {
            return Some(self.die(at));
        }
        let accepted = self.noise.accepted(self.term.share());
        let overloaded = self.round.overloaded(self.n, accepted);
        // An overload never raises: a good round ends with a success.
        if by_overload && !overloaded {
            return None;
        }
        if overloaded && let Some(reason) = self.find_rate(at) {
            return Some(reason);
        }
        if !overloaded && self.round.saturated() {
            self.hold.worked(at, self.latency, self.n);
        }
        match self.phase {
            Phase::Probe(probe) if !overloaded => Some(self.probed(at, probe)),
            phase => {
                let verdict = self.judge(overloaded);
                match phase {
                    Phase::Start { .. } => self.end_start(at, verdict, overloaded),
                    Phase::Probe(_) => {
                        self.end_probe(at);
                        self.cut(at, verdict)
                    }
                    Phase::Cruise | Phase::Dead(_) => Some(self.cruise(at, verdict, by_overload)),
                }
            }
        }
    }

    fn is_full(&self, at: f64) -> bool {
        let needed = if matches!(self.phase, Phase::Start { .. }) {
            (self.n / 2.0).clamp(24.0, 300.0)
        } else {
            (2.0 * self.n).clamp(16.0, 400.0)
        };
        f64::from(self.round.m()) >= needed && at > self.round.t0 + self.latency
    }

    fn is_barren(&self) -> bool {
        f64::from(self.round.barren) >= self.n.max(3.0)
    }

    /// Refusals come faster than answers, so a few in a row prove nothing while older requests are
    /// still being served.
    fn is_dead(&self, at: f64) -> bool {
        self.round.barren >= 3 && at - self.last_success > 2.0 * self.latency
    }

    fn judge(&mut self, overloaded: bool) -> Verdict {
        let share = self.term.share();
        let failed = self.term.failed(self.n, &self.round);
        // 429 is never noise.
        if !self.round.is_throttled() {
            let p = f64::from(failed.bad) / f64::from(failed.of.max(1));
            self.noise.learn(self.n, p, share);
        }
        let accepted = self.noise.accepted(share);
        self.term.judge(self.n, &self.round, accepted, overloaded)
    }

    /// Rule 1.
    pub(super) fn die(&mut self, at: f64) -> Reason {
        let overloads = self.round.barren;
        self.n = self.bounds.clamp(self.n / 2.0);
        self.schedule.lowered(self.n);
        if !matches!(self.phase, Phase::Dead(_)) {
            self.phase = Phase::Dead(Dead {
                pause: FIRST_PAUSE,
                overloads: 0,
                throttled: 0,
                timeouts: 0,
            });
        }
        self.next_round(at, true);
        Reason::Dead { overloads }
    }

    /// The first success after an outage. One that said 429 to a single request, or outages that come
    /// back soon, were a rate used up.
    pub(super) fn revive(&mut self, at: f64, dead: Dead, back: Option<f64>) -> Reason {
        let closed_for = at - self.let_in;
        let throttled = 2 * dead.throttled > dead.overloads;
        let quota = throttled && dead.overloads >= 3;
        let soon = self.let_in > 0.0 && closed_for < RELAPSE && dead.timeouts == 0;
        self.relapses = if soon {
            self.relapses.saturating_add(1)
        } else {
            0
        };
        // Once, and without 429, it may be a service that fell again while it came back.
        let relapse = soon && (throttled || self.relapses >= 2);
        let served = f64::from(std::mem::take(&mut self.served));
        self.let_in = at;
        let least = self.n <= self.bounds.clamp(1.0);
        if least && (quota || relapse) && self.doubt.allows(at) {
            let reason = self.enter_rate(at, served / closed_for.max(1e-3), throttled, false);
            if let Some(rate) = &mut self.rate {
                rate.suspect(served, back);
            }
            return reason;
        }
        self.pace = None;
        self.phase = Phase::START;
        self.next_round(at, false);
        self.n = self.bounds.clamp(self.n + 1.0);
        Reason::Alive
    }

    /// Rule 2.
    fn find_rate(&mut self, at: f64) -> Option<Reason> {
        if !self.doubt.allows(at) {
            return None;
        }
        let throttled = self.round.is_throttled();
        let overloads = self.round.overloads(self.n);
        let alone = self.n < 2.0
            && self.round.is_refused()
            && self.round.turns >= 2
            && f64::from(overloads.bad) > ALONE * f64::from(overloads.of);
        let below = throttled && self.hold.just_worked(at, self.n);
        if !alone && !below {
            return None;
        }
        let span = self.latency.max(if alone { SPAN_ALONE } else { SPAN });
        let delivered = self.delivered.rate(at, span);
        Some(self.enter_rate(at, delivered, throttled, true))
    }

    /// Rule 3.
    fn end_start(&mut self, at: f64, verdict: Verdict, overloaded: bool) -> Option<Reason> {
        self.ln_g0 = self.ln_g0.or(self.round.g.mean());
        let (queued, growth) = self.queued();
        let reference = Pool {
            g: self.round.g,
            i: self.round.i,
        };
        let reason = if overloaded && !matches!(verdict, Verdict::Free) {
            self.cut(at, verdict)
        } else if queued > self.n / 2.0 {
            let drained = self.n * (1.0 / growth).max(DRAIN) + alpha(self.n);
            self.n = self.bounds.clamp(drained.min(self.n));
            Some(Reason::Queued { growth, queued })
        } else {
            self.next_round(at, false);
            return None;
        };
        self.probe(at, reference, false);
        reason
    }

    /// Rule 4.
    pub(super) fn cut(&mut self, at: f64, verdict: Verdict) -> Option<Reason> {
        let (n, reason) = match verdict {
            Verdict::Free => return None,
            Verdict::AtMost(dn, reason) => (self.n + dn, reason),
            Verdict::Cut(n, reason) => (n, reason),
        };
        self.hold.cut(at, self.latency, self.n);
        self.n = self.bounds.clamp(n.min(self.n));
        self.schedule.lowered(self.n);
        self.d = 0.0;
        self.reference = Pool::default();
        self.next_round(at, true);
        Some(reason)
    }

    /// `q`, and `G/G0`.
    fn queued(&self) -> (f64, f64) {
        let (Some(g), Some(ln_g0)) = (self.round.g.mean(), self.ln_g0) else {
            return (0.0, 1.0);
        };
        let growth = g - ln_g0;
        let share = 1.0 - (-(growth - self.round.margin()).max(0.0)).exp();
        (self.n * share, growth.exp())
    }

    /// Rule 5, and 6 when it is time.
    fn cruise(&mut self, at: f64, verdict: Verdict, by_overload: bool) -> Reason {
        if let Verdict::Cut(_, reason) = verdict {
            self.cut(at, verdict);
            return reason;
        }
        let (d, reason) = self.drift(verdict);
        let accepted = self.noise.accepted(self.term.share());
        // The term would be back there in two rounds, and fail more than it may.
        if let Verdict::AtMost(most, _) = verdict
            && most < 0.0
            && self.round.is_burst(self.n, accepted)
        {
            self.hold.cut(at, self.latency, self.n);
        }
        let before = self.n;
        let may_grow = self.round.saturated() && !by_overload;
        let d = if may_grow { d } else { d.min(0.0) };
        self.n = self.bounds.clamp((self.n + d).min(self.hold.most(at)));
        self.d = self.n - before;
        self.reference.merge(&self.round.g, &self.round.i);
        let due = self.schedule.is_due(at, self.n);
        if due && self.round.saturated() && self.n >= 2.0 {
            self.probe(at, self.reference, true);
            return Reason::Probing;
        }
        self.next_round(at, self.n < before);
        reason
    }

    /// `d`, and why.
    fn drift(&mut self, verdict: Verdict) -> (f64, Reason) {
        let (queued, growth) = self.queued();
        let target = alpha(self.n);
        let d = 0.5 * (target - queued);
        match verdict {
            Verdict::AtMost(most, reason) if most < d => {
                self.schedule.lowered(self.n);
                (most, reason)
            }
            Verdict::Free if queued < target / 2.0 => {
                let d = d.max(1.5 * self.d).min(self.n / 2.0);
                (d, Reason::Room { queued, target })
            }
            _ if d < 0.0 => (d, Reason::Queued { growth, queued }),
            _ => (d, Reason::Room { queued, target }),
        }
    }

    /// Rule 6.
    fn probe(&mut self, at: f64, reference: Pool, aligned: bool) {
        self.halve(
            at,
            Probe {
                n_before: self.n,
                reference,
                aligned,
            },
        );
    }

    fn halve(&mut self, at: f64, probe: Probe) {
        self.n = self.bounds.clamp((self.n / 2.0).floor());
        self.phase = Phase::Probe(probe);
        self.next_round(at, true);
    }

    fn probed(&mut self, at: f64, probe: Probe) -> Reason {
        let round = &self.round;
        let (Some((gain, e)), Some(ln_g)) = (probe.elasticity(&round.g, &round.i), round.g.mean())
        else {
            self.n = probe.n_before;
            self.end_probe(at);
            return Reason::ProbeFailed;
        };
        // From twice the capacity half is out of the queue, though latency fell with the load.
        let at_base = self
            .ln_g0
            .is_some_and(|ln_g0| (ln_g - ln_g0).abs() <= round.margin());
        let in_a_queue = e > 0.5 && round.k() >= PROBE_ANSWERS && !at_base;
        if in_a_queue && self.n >= 2.0 {
            self.ln_g0 = Some(self.ln_g0.map_or(ln_g, |ln_g0| ln_g0.min(ln_g)));
            self.halve(at, probe);
            return Reason::ProbingDeeper {
                fell: (-gain).exp(),
            };
        }
        let rise = if probe.aligned {
            f64::INFINITY
        } else {
            UNALIGNED_RISE.ln()
        };
        let ln_g0 = self.ln_g0.map_or(ln_g, |ln_g0| ln_g.min(ln_g0 + rise));
        self.ln_g0 = Some(ln_g0);
        let n = probe.n_before * (-gain).exp() + alpha(probe.n_before);
        self.n = self.bounds.clamp(n.max(self.n).min(probe.n_before));
        self.end_probe(at);
        Reason::Probed {
            base: Duration::from_secs_f64(ln_g0.exp()),
        }
    }

    fn end_probe(&mut self, at: f64) {
        self.phase = Phase::Cruise;
        self.d = 0.0;
        self.reference = Pool::default();
        self.schedule.plan(at, self.latency, self.n);
        self.next_round(at, false);
    }
}
