use tidegate_core::Reason;

use crate::estimator::{Round, Share, Term, Verdict};

/// Rounds count as if they held so many more answers at the setpoint: a few answers hold the limit
/// instead of guessing.
const PRIOR: f64 = 5.0;

/// So many deviations above the setpoint may be chance, and count as the setpoint: otherwise noise
/// near it drives the limit down, since a cut is larger than a rise.
const CHANCE: f64 = 2.0;

/// Below this error the service is close to the setpoint and the term decides; above it the queue
/// does.
const NEAR: f64 = 0.5;

/// No round takes more than this part of the limit: rounds are short while much fails.
const MOST: f64 = 0.25;

/// The PID term in velocity form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    pub(super) setpoint: f64,
    pub(super) kp: f64,
    pub(super) ki: f64,
    pub(super) kd: f64,
    /// The measured share of the last round; `None` before the first.
    pub(super) p: Option<f64>,
    /// The filtered share of the last round and of the one before.
    pub(super) filtered: Option<[f64; 2]>,
}

impl Velocity {
    /// The error of a measured share where `accepted` is the setpoint in force.
    fn e(&self, p: f64, accepted: f64) -> f64 {
        ((accepted - p) / self.setpoint).clamp(-4.0, 1.0)
    }

    /// The relative move for a measured share.
    pub(super) fn u(&mut self, p: f64, accepted: f64) -> f64 {
        let before = self.p.unwrap_or(p);
        let seen = p.min(accepted + 4.0 * self.setpoint);
        let [f1, f2] = self.filtered.unwrap_or([seen; 2]);
        let f = f1 + (seen - f1) / 2.0;
        (self.p, self.filtered) = (Some(p), Some([f, f1]));
        let e = self.e(p, accepted);
        let change = (e - self.e(before, accepted)).clamp(-2.0, 1.0);
        let bend = (f - 2.0 * f1 + f2) / self.setpoint;
        self.kp * change + self.ki * e - self.kd * bend
    }
}

impl Term for Velocity {
    fn share(&self) -> f64 {
        self.setpoint
    }

    fn failed(&self, n: f64, round: &Round) -> Share {
        round.failures(n)
    }

    fn judge(&mut self, n: f64, round: &Round, accepted: f64, _overloaded: bool) -> Verdict {
        let Share { bad, of } = round.failures(n);
        let p = (f64::from(bad) + PRIOR * accepted) / (f64::from(of) + PRIOR);
        let chance = CHANCE * (accepted / (f64::from(of) + PRIOR)).sqrt();
        let p = if p > accepted {
            (p - chance).max(accepted)
        } else {
            p
        };
        let u = self.u(p, accepted);
        if self.e(p, accepted) >= NEAR {
            return Verdict::Free;
        }
        let dn = if u > 0.0 {
            u * n.min(4.0 * n.sqrt())
        } else {
            u.max(-MOST) * n
        };
        Verdict::AtMost(
            dn,
            Reason::Failing {
                failed: bad,
                of,
                accepted,
            },
        )
    }
}
