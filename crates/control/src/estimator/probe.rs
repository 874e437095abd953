use super::LogMean;

/// Seconds between two probes at least, and in latencies.
const PERIOD: f64 = 10.0;
const PERIOD_IN_LATENCIES: f64 = 20.0;

/// So much more often while the queue has pushed the limit below a quarter: either the service lost
/// capacity, or its route changed and the base is wrong.
const SOONER: f64 = 4.0;
const PUSHED: f64 = 0.25;

/// Latencies and in flight, pooled over rounds of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    pub(crate) g: LogMean,
    pub(crate) i: LogMean,
}

impl Pool {
    pub(crate) fn merge(&mut self, g: &LogMean, i: &LogMean) {
        self.g.merge(g);
        self.i.merge(i);
    }
}

/// A round at half the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) n_before: f64,
    /// `G_ref` and `I_ref`: how it was at the whole limit.
    pub(crate) reference: Pool,
    /// Whether other clients probe at the same time.
    pub(crate) aligned: bool,
}

impl Probe {
    /// `ln(G_ref / G)` and `e`, the elasticity of latency to our load; `None` if a round was empty.
    pub(crate) fn elasticity(&self, g: &LogMean, i: &LogMean) -> Option<(f64, f64)> {
        let gain = self.reference.g.mean()? - g.mean()?;
        let load = self.reference.i.mean()? - i.mean()?;
        Some((gain, gain / load.max(0.3)))
    }
}

/// When to probe: at multiples of a period on a clock that all clients of a service share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// The shared clock when ours was 0, seconds.
    phase: f64,
    due: f64,
    due_if_pushed: f64,
    /// The greatest limit since the last probe or cut.
    top: f64,
}

impl Schedule {
    pub(crate) fn new(phase: f64) -> Self {
        Self {
            phase,
            due: 0.0,
            due_if_pushed: 0.0,
            top: 0.0,
        }
    }

    /// A probe ended at limit `n`.
    pub(crate) fn plan(&mut self, now: f64, latency: f64, n: f64) {
        let mut period = PERIOD;
        while period < PERIOD_IN_LATENCIES * latency {
            period *= 2.0;
        }
        self.due = self.next(now, period);
        self.due_if_pushed = self.next(now, period / SOONER);
        self.top = n;
    }

    /// Something else than the queue lowered the limit to `n`.
    pub(crate) fn lowered(&mut self, n: f64) {
        self.top = n;
    }

    /// Whether to probe at limit `n`.
    pub(crate) fn is_due(&mut self, now: f64, n: f64) -> bool {
        self.top = self.top.max(n);
        let pushed = n < PUSHED * self.top;
        now >= if pushed { self.due_if_pushed } else { self.due }
    }

    fn next(&self, now: f64, period: f64) -> f64 {
        now + period - (self.phase + now) % period
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn clients_that_joined_at_different_times_probe_together() {
        let (mut one, mut other) = (Schedule::new(1_003.0), Schedule::new(1_038.5));
        one.plan(40.0, 0.05, 10.0);
        other.plan(4.5, 0.05, 10.0);
        assert_eq!((one.due, other.due), (47.0, 11.5));
        assert_eq!(1_003.0 + one.due, 1_038.5 + other.due);
    }

    #[test]
    fn a_slow_service_is_probed_less_often() {
        let mut schedule = Schedule::new(0.0);
        schedule.plan(0.0, 0.9, 10.0);
        assert_eq!(schedule.due, 20.0);
    }

    #[test]
    fn latency_that_follows_our_load_has_an_elasticity_of_one() {
        let (mut full, mut half) = (Pool::default(), Pool::default());
        full.g.add(0.2);
        full.i.add(40.0);
        half.g.add(0.1);
        half.i.add(20.0);
        let probe = Probe {
            n_before: 40.0,
            reference: full,
            aligned: true,
        };
        let (_, e) = probe.elasticity(&half.g, &half.i).unwrap();
        assert!((e - 1.0).abs() < 1e-9);
        assert!(probe.elasticity(&LogMean::default(), &half.i).is_none());
    }
}
