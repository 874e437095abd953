use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Reason, Sample, Setting};

use crate::estimator::{Estimator, Round, Term, Verdict};
use crate::{Bounds, Invalid};

/// Rounds count as if they held so many more answers at the setpoint: a few answers hold the limit
/// instead of guessing.
const PRIOR: f64 = 5.0;

/// Holds the share of failed requests at a setpoint by moving the limit.
#[derive(Clone, Debug)]
pub struct Pid(Estimator<Velocity>);

/// What moves a [`Pid`]; every field may be changed while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PidSettings {
    /// The share of failed requests to hold, above `0.0` and below `1.0`; default 0.05.
    pub setpoint: f64,
    /// Gain on the change of the error, at least 0; default 0.10.
    pub kp: f64,
    /// Gain on the error, at least 0; default 0.18.
    pub ki: f64,
    /// Gain on the bend of the filtered measurement, at least 0; default 0.10.
    pub kd: f64,
    /// The least limit, at least 1; default 1.
    pub min: usize,
    /// The greatest limit, at least `min`; default 5,000.
    pub max: usize,
}

/// The PID term in velocity form.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    setpoint: f64,
    kp: f64,
    ki: f64,
    kd: f64,
    /// Of the last round: the measured share, and the filtered one with the one before it.
    last: Option<[f64; 3]>,
}

impl Velocity {
    fn error(&self, p: f64) -> f64 {
        ((self.setpoint - p) / self.setpoint).clamp(-4.0, 1.0)
    }
}

impl Term for Velocity {
    const COUNTS_FAILURES: bool = true;

    fn judge(&mut self, n: f64, round: &Round) -> Verdict {
        let early = f64::from(round.eo) >= (0.4 * n).max(3.0);
        let failed = if early {
            round.eo.max(round.o)
        } else {
            round.o
        } + round.failures;
        let of = (round.m() + round.failures).max(failed);
        let p = (f64::from(failed) + PRIOR * self.setpoint) / (f64::from(of) + PRIOR);
        let [p1, f1, f2] = self.last.unwrap_or([self.setpoint; 3]);
        let f = f1 + (p - f1) / 2.0;
        self.last = Some([p, f, f1]);
        let e = self.error(p);
        let de = (e - self.error(p1)).clamp(-2.0, 1.0);
        let u = self.kp * de + self.ki * e - self.kd * (f - 2.0 * f1 + f2) / self.setpoint;
        if e >= 0.5 {
            return Verdict::Free;
        }
        let dn = if u > 0.0 {
            u * n.min(4.0 * n.sqrt())
        } else {
            u.max(-1.0) * n
        };
        Verdict::AtMost(
            dn,
            Reason::Failing {
                failed,
                of,
                setpoint: self.setpoint,
            },
        )
    }
}

impl Pid {
    /// With the wall time as `phase`.
    pub fn new(phase: Duration) -> Self {
        let term = Velocity {
            setpoint: 0.05,
            kp: 0.10,
            ki: 0.18,
            kd: 0.10,
            last: None,
        };
        Self(Estimator::new(phase, term))
    }

    /// The greatest limit.
    #[must_use]
    pub fn max(mut self, max: usize) -> Self {
        match Bounds::new(self.0.bounds.min(), max) {
            Ok(bounds) => self.0.bounds = bounds,
            Err(invalid) => panic!("{invalid}"),
        }
        self
    }
}

impl Controller for Pid {
    fn on_start(&mut self, now: Instant, _in_flight: usize) {
        self.0.on_start(now);
    }
    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.0.on_sample(now, sample)
    }
    fn setting(&self) -> Setting {
        self.0.setting()
    }
    fn move_to(&mut self, now: Instant, limit: f64) {
        self.0.move_to(now, limit);
    }
}
