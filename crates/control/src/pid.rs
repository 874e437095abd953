use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Reason, Sample, Setting};

use crate::estimator::{Estimator, Round, Share, Term, Verdict};
use crate::{Bounds, Invalid};

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

/// Holds the share of failed requests at a setpoint by moving the limit: the governor.
///
/// It runs on the same rounds, queue estimate, probes and rate mode as [`Prober`](crate::Prober);
/// where that cuts, this moves by a PID controller in velocity form. Overloads and plain failures
/// count as failed.
///
/// ```text
/// p   = (failed + 5 sp) / (answers + 5)      few answers hold the limit; of what is above sp, two
///                                            deviations are chance
/// e   = clamp((sp − p) / setpoint, −4, 1)
/// u   = kp Δe + ki e − kd Δ²p̃ / setpoint     Δe in −2..=1; p̃ = EWMA(1/2) of p
/// Δn  = u min(n, 4 √n)   if u > 0            additive up,
///     = max(u, −1/4) n   otherwise           multiplicative down: fair between clients
/// ```
///
/// While `e` is below 0.5 the limit moves by the smaller of `Δn` and `(α − q)/2`; above, by the
/// prober's rule. `sp` is the setpoint, or setpoint plus noise where failures turn out not to depend
/// on the limit.
///
/// The limit is the only integral, so clamping it is the anti-windup, and moving a gain, the setpoint
/// or a bound moves nothing else (Åström and Hägglund, *Advanced PID Control*, §3.5). The derivative
/// acts on the filtered measurement, never on the setpoint.
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
    /// The measured share of the last round; `None` before the first.
    p: Option<f64>,
    /// The filtered share of the last round and of the one before.
    filtered: Option<[f64; 2]>,
}

impl Velocity {
    /// The error of a measured share where `accepted` is the setpoint in force.
    fn e(&self, p: f64, accepted: f64) -> f64 {
        ((accepted - p) / self.setpoint).clamp(-4.0, 1.0)
    }

    /// The relative move for a measured share.
    fn u(&mut self, p: f64, accepted: f64) -> f64 {
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

impl PidSettings {
    fn check(&self) -> Result<Bounds, Invalid> {
        if !(self.setpoint > 0.0 && self.setpoint < 1.0) {
            return Err(Invalid::new("setpoint", self.setpoint, "between 0 and 1"));
        }
        for (name, gain) in [("kp", self.kp), ("ki", self.ki), ("kd", self.kd)] {
            if !(gain >= 0.0 && gain.is_finite()) {
                return Err(Invalid::new(name, gain, "finite and at least 0"));
            }
        }
        Bounds::new(self.min, self.max)
    }
}

impl Pid {
    /// With the defaults of [`PidSettings`], from limit 1 on.
    ///
    /// `phase` is the wall clock at the first instant that the law sees, as for
    /// [`Prober::new`](crate::Prober::new).
    pub fn new(phase: Duration) -> Self {
        let term = Velocity {
            setpoint: 0.05,
            kp: 0.10,
            ki: 0.18,
            kd: 0.10,
            p: None,
            filtered: None,
        };
        Self(Estimator::new(phase, term))
    }

    /// The limit at first; default 1.
    #[must_use]
    pub fn start(mut self, limit: usize) -> Self {
        self.0.start(limit);
        self
    }

    /// See [`PidSettings::setpoint`].
    ///
    /// # Panics
    ///
    /// Unless it is above 0 and below 1.
    #[must_use]
    #[track_caller]
    pub fn setpoint(self, setpoint: f64) -> Self {
        self.with(|settings| settings.setpoint = setpoint)
    }

    /// See [`PidSettings::kp`].
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn kp(self, kp: f64) -> Self {
        self.with(|settings| settings.kp = kp)
    }

    /// See [`PidSettings::ki`].
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn ki(self, ki: f64) -> Self {
        self.with(|settings| settings.ki = ki)
    }

    /// See [`PidSettings::kd`].
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn kd(self, kd: f64) -> Self {
        self.with(|settings| settings.kd = kd)
    }

    /// See [`PidSettings::min`].
    ///
    /// # Panics
    ///
    /// If it is 0 or above the greatest.
    #[must_use]
    #[track_caller]
    pub fn min(self, min: usize) -> Self {
        self.with(|settings| settings.min = min)
    }

    /// See [`PidSettings::max`].
    ///
    /// # Panics
    ///
    /// If it is below the least.
    #[must_use]
    #[track_caller]
    pub fn max(self, max: usize) -> Self {
        self.with(|settings| settings.max = max)
    }

    /// What moves it now.
    pub fn settings(&self) -> PidSettings {
        let Velocity {
            setpoint,
            kp,
            ki,
            kd,
            ..
        } = self.0.term;
        let bounds = self.0.bounds();
        PidSettings {
            setpoint,
            kp,
            ki,
            kd,
            min: bounds.min(),
            max: bounds.max(),
        }
    }

    /// Moves what moves it. Bumpless: the limit stays where it is, but for new bounds.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tidegate_control::{Pid, PidSettings};
    ///
    /// let mut law = Pid::new(Duration::ZERO).setpoint(0.02);
    /// law.set(PidSettings { kd: 0.0, ..law.settings() })?;
    /// assert!(law.set(PidSettings { kp: f64::NAN, ..law.settings() }).is_err());
    /// # Ok::<(), tidegate_control::Invalid>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a field is out of its range; then nothing changes.
    pub fn set(&mut self, settings: PidSettings) -> Result<(), Invalid> {
        let bounds = settings.check()?;
        self.0.set_bounds(bounds);
        let PidSettings {
            setpoint,
            kp,
            ki,
            kd,
            ..
        } = settings;
        self.0.term = Velocity {
            setpoint,
            kp,
            ki,
            kd,
            ..self.0.term
        };
        Ok(())
    }

    #[track_caller]
    fn with(mut self, change: impl FnOnce(&mut PidSettings)) -> Self {
        let mut settings = self.settings();
        change(&mut settings);
        if let Err(invalid) = self.set(settings) {
            panic!("{invalid}");
        }
        self
    }
}

impl Controller for Pid {
    fn on_start(&mut self, now: Instant, _in_flight: usize) {
        self.0.on_start(now);
    }

    fn watches_starts(&self) -> bool {
        self.0.watches_starts()
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.0.on_sample(now, sample)
    }

    fn setting(&self) -> Setting {
        self.0.setting()
    }

    fn setpoint(&self) -> Option<f64> {
        Some(self.settings().setpoint)
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        self.0.move_to(now, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Trial, UNAVAILABLE};
    use tidegate_core::{Outcome, Units};

    fn velocity() -> Velocity {
        Pid::new(Duration::ZERO).0.term
    }

    #[test]
    fn at_the_setpoint_nothing_moves() {
        let mut term = velocity();
        for _ in 0..10 {
            assert!(term.u(0.05, 0.05).abs() < 1e-12);
        }
    }

    #[test]
    fn each_gain_answers_to_its_own_part_of_the_error() {
        let gains = |kp, ki, kd| Velocity {
            kp,
            ki,
            kd,
            ..velocity()
        };
        let step = |mut term: Velocity| {
            term.u(0.05, 0.05);
            [term.u(0.10, 0.05), term.u(0.10, 0.05)]
        };
        // P answers to the step alone, I goes on, D pushes against it and then back.
        for (term, moves) in [
            (gains(1.0, 0.0, 0.0), [-1.0, 0.0]),
            (gains(0.0, 1.0, 0.0), [-1.0, -1.0]),
            (gains(0.0, 0.0, 1.0), [-0.5, 0.25]),
        ] {
            let near = |(is, should): (f64, f64)| (is - should).abs() < 1e-9;
            assert!(step(term).into_iter().zip(moves).all(near), "{moves:?}");
        }
    }

    #[test]
    fn more_failures_than_the_setpoint_lower_the_limit_and_say_so() {
        let mut trial = Trial::new(Pid::new(Duration::ZERO));
        trial.law.move_to(trial.now, 100.0);
        trial.wave(50.ms(), Outcome::Success);
        let changes = trial.wave(50.ms(), UNAVAILABLE);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert!(trial.limit() < 80.0);
        let words = changes[0].reason.to_string();
        assert!(words.ends_with("failed, where 5.0 % may"), "{words}");
    }

    #[test]
    fn no_answers_move_nothing() {
        let mut trial = Trial::new(Pid::new(Duration::ZERO));
        trial.law.move_to(trial.now, 100.0);
        let before = trial.law.setting();
        trial.wait(1_000.s());
        trial.law.on_start(trial.now, 1);
        trial.wait(50.ms());
        trial.answer_with(1, 50.ms(), Outcome::Failure);
        assert_eq!(trial.law.setting(), before);
    }

    #[test]
    fn a_setting_out_of_range_changes_nothing() {
        let mut law = Pid::new(Duration::ZERO);
        let before = law.settings();
        let wrong = [
            PidSettings {
                kp: f64::NAN,
                ..before
            },
            PidSettings { ki: -0.1, ..before },
            PidSettings {
                kd: f64::INFINITY,
                ..before
            },
            PidSettings {
                setpoint: 0.0,
                ..before
            },
            PidSettings {
                setpoint: 1.0,
                ..before
            },
            PidSettings { min: 0, ..before },
            PidSettings {
                min: 9,
                max: 8,
                ..before
            },
        ];
        for settings in wrong {
            assert!(law.set(settings).is_err(), "{settings:?}");
            assert_eq!(law.settings(), before);
        }
    }

    #[test]
    #[should_panic(expected = "setpoint must be between 0 and 1, not 1.5")]
    fn a_setpoint_above_one_is_refused() {
        let _ = Pid::new(Duration::ZERO).setpoint(1.5);
    }
}
