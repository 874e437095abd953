//! Outages that are loud: all that is sent is refused, and at once.

use tidegate_core::{Cause, Outcome, Reason, Sample};

use super::{Estimator, Phase, Pool, Term};

/// What a stretch without a success must hold to be no chance, in refusals and in the successes that
/// would have come: where they come at random, none comes once in e^16.
const EXPECTED: f64 = 16.0;

/// A limit up to here comes back as fast by itself: it grows by half, `α(n) = n / 2`.
const SMALL: f64 = 9.0;

/// A stretch of time in which all that was sent was refused, by the times of sends: refusals come back
/// sooner than answers.
///
/// A service that lost capacity lets some in, and one whose queue is full lets one in for each that is
/// done. One that lets in none for as long as 16 successes take is out, whatever our limit was: what
/// was cut meanwhile was cut for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outage(Option<Stretch>);

#[derive(Clone, Copy, Debug)]
struct Stretch {
    since: f64,
    until: f64,
    refused: u32,
    /// The limit when it began, and the one that had worked.
    limit: f64,
    worked: f64,
}

impl Outage {
    /// One sent at `started` was refused under `limit`, where `worked` had worked.
    pub(crate) fn refused(&mut self, started: f64, limit: f64, worked: f64) {
        let stretch = self.0.get_or_insert(Stretch {
            since: started,
            until: started,
            refused: 0,
            limit,
            worked,
        });
        stretch.since = stretch.since.min(started);
        stretch.until = stretch.until.max(started);
        stretch.refused = stretch.refused.saturating_add(1);
    }

    /// One was refused for a reason that is ours, or late.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// One sent at `started` succeeded: the limit to go back to, if that was the end of an outage.
    pub(crate) fn succeeded(&mut self, started: f64, latency: f64) -> Option<f64> {
        let stretch = self.0.filter(|stretch| started > stretch.since)?;
        let Stretch {
            since,
            until,
            refused,
            limit,
            worked,
        } = stretch;
        // Refusals go on: another stretch begins here.
        self.0 = (started < until).then_some(Stretch {
            since: started,
            refused: 0,
            ..stretch
        });
        let missed = (started.min(until) - since) * worked / latency;
        let out = missed >= EXPECTED && f64::from(refused) >= limit.max(EXPECTED);
        (out && worked >= SMALL).then_some(worked)
    }
}

impl<T: Term> Estimator<T> {
    /// The limit to go back to, if an outage is over. 429 is about what we send, and a timeout may be
    /// about our queue.
    pub(super) fn back(&mut self, sample: &Sample) -> Option<f64> {
        let started = self.clock.seconds(sample.started);
        match sample.outcome {
            Outcome::Success => return self.outage.succeeded(started, self.latency),
            Outcome::Overload(Cause::Throttled | Cause::TimedOut) => self.outage.end(),
            Outcome::Overload(_) => self.outage.refused(started, self.n, self.worked()),
            Outcome::Failure | Outcome::Ignored => {}
        }
        None
    }

    /// The limit that worked until now.
    fn worked(&self) -> f64 {
        match self.phase {
            _ if self.rate.is_some() => self.rate.as_ref().map_or(0.0, |rate| rate.before),
            Phase::Probe(probe) => probe.n_before,
            // Half of it did, a round trip ago. Who was stopped on the way back goes half as far.
            Phase::Start { up_to } if up_to.is_finite() => self.n.max(up_to) / 2.0,
            Phase::Start { .. } => self.n / 2.0,
            Phase::Cruise | Phase::Dead(_) => self.n,
        }
    }

    /// Doubles each round trip up to `limit`.
    pub(super) fn restore(&mut self, at: f64, limit: f64, busy: bool) -> Option<Reason> {
        if self.n >= limit {
            return None;
        }
        // What was cut in the outage taught nothing.
        self.hold.release();
        let starting = matches!(self.phase, Phase::Start { .. });
        self.phase = Phase::Start { up_to: limit };
        if starting {
            return None;
        }
        self.next_round(at, false);
        busy.then(|| {
            self.n = self.bounds.clamp(self.n + 1.0);
            Reason::Alive
        })
    }

    /// The limit is where it was before the outage.
    pub(super) fn restored(&mut self, at: f64) {
        self.phase = Phase::Cruise;
        self.d = 0.0;
        self.reference = Pool::default();
        self.schedule.lowered(self.n);
        self.next_round(at, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 a second refused under a limit of 40 for so many seconds from 10 on.
    fn refused(seconds: f64) -> Outage {
        let mut outage = Outage::default();
        let mut at = 10.0;
        while at < 10.0 + seconds {
            outage.refused(at, 40.0, 40.0);
            at += 0.005;
        }
        outage
    }

    #[test]
    fn after_a_stretch_without_a_success_the_limit_before_it_is_known() {
        let mut outage = refused(1.0);
        assert_eq!(outage.succeeded(9.9, 0.1), None, "sent before it");
        assert_eq!(outage.succeeded(11.0, 0.1), Some(40.0));
        assert_eq!(outage.succeeded(11.1, 0.1), None, "once");
    }

    #[test]
    fn one_that_was_let_in_between_divides_a_stretch() {
        let mut outage = refused(0.3);
        assert_eq!(outage.succeeded(10.15, 0.4), None);
        assert_eq!(outage.succeeded(10.3, 0.4), None);
        // Neither half held 16 successes' time, which is 0.16 s; the whole did.
        assert_eq!(refused(0.3).succeeded(10.3, 0.4), Some(40.0));
    }

    #[test]
    fn fewer_refusals_than_the_limit_are_no_outage() {
        assert_eq!(refused(0.19).succeeded(10.3, 0.1), None);
        assert_eq!(refused(0.21).succeeded(10.3, 0.1), Some(40.0));
    }

    #[test]
    fn a_small_limit_comes_back_by_itself() {
        let mut outage = Outage::default();
        for step in 0..1_000 {
            outage.refused(f64::from(step) * 0.01, 8.0, 8.0);
        }
        assert_eq!(outage.succeeded(10.0, 0.1), None);
    }
}
