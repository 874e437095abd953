mod settings;
mod velocity;

use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Sample, Setting};

pub use settings::PidSettings;
use velocity::Velocity;

use crate::Invalid;
use crate::estimator::Estimator;

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
/// on the limit. After a burst, 0.3 of the limit at once and six deviations above `sp`, the limit stays
/// below that for 5 s, as the prober's does: a hard edge would be passed every few rounds.
///
/// The limit is the only integral, so clamping it is the anti-windup, and moving a gain, the setpoint
/// or a bound moves nothing else (Åström and Hägglund, *Advanced PID Control*, §3.5). The derivative
/// acts on the filtered measurement, never on the setpoint.
#[derive(Clone, Debug)]
pub struct Pid(Estimator<Velocity>);

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
