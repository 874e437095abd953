mod settings;

use std::time::Instant;

use tidegate_core::{Change, Controller, Outcome, Reason, Sample, Setting};

pub use settings::AimdSettings;

use crate::in_use::in_use_from;
use crate::pause::{Pause, Quiet};
use crate::{Bounds, Invalid};

/// A window has at least as many answers, so that one overload among few is not a share.
const WINDOW: f64 = 10.0;

/// Fewer overloads than these are noise, whatever their share.
const NOISE: u32 = 3;

/// Additive increase, multiplicative decrease: the plain law, explained in one line.
///
/// ```text
/// share ≤ threshold and saturated:  n = n + step
/// share > threshold:                n = n · backoff
/// ```
///
/// A window is one limit's worth of answers (10 at least) to requests sent since the last move.
/// Answers to older requests are old news, so a burst of overloads cuts once (RFC 5681 §3.1, RFC
/// 6582 §3.2: one reduction for each window of data). A window that can only end above the
/// threshold ends at once. `share` is that of overloads among overloads and successes; plain
/// failures do not count. It is blind to latency: in front of a queue without end it grows until
/// requests time out.
///
/// ```
/// use tidegate_control::Aimd;
/// use tidegate_core::Controller;
///
/// let law = Aimd::new().start(10).step(2.0).backoff(0.8).max(200);
/// assert_eq!(law.setting().limit, 10.0);
/// ```
#[derive(Clone, Debug)]
pub struct Aimd {
    settings: AimdSettings,
    n: f64,
    /// Answers to requests sent before it are old news.
    since: Option<Instant>,
    pause: Pause,
    successes: u32,
    overloaded: u32,
    busy: u32,
}

impl Default for Aimd {
    fn default() -> Self {
        Self::new()
    }
}

impl Aimd {
    /// The defaults, at limit 1.
    pub fn new() -> Self {
        Self {
            settings: AimdSettings::default(),
            n: 1.0,
            since: None,
            pause: Pause::default(),
            successes: 0,
            overloaded: 0,
            busy: 0,
        }
    }

    /// The limit at first; default 1.
    #[must_use]
    pub fn start(mut self, limit: usize) -> Self {
        self.n = self.settings.bounds.clamp(limit as f64);
        self
    }

    /// See [`AimdSettings::step`].
    ///
    /// # Panics
    ///
    /// Unless it is finite and above 0.
    #[must_use]
    #[track_caller]
    pub fn step(self, step: f64) -> Self {
        self.with(|settings| settings.step = step)
    }

    /// See [`AimdSettings::backoff`].
    ///
    /// # Panics
    ///
    /// Unless it is within `0.0..1.0`.
    #[must_use]
    #[track_caller]
    pub fn backoff(self, backoff: f64) -> Self {
        self.with(|settings| settings.backoff = backoff)
    }

    /// See [`AimdSettings::threshold`].
    ///
    /// # Panics
    ///
    /// Unless it is within `0.0..1.0`.
    #[must_use]
    #[track_caller]
    pub fn threshold(self, threshold: f64) -> Self {
        self.with(|settings| settings.threshold = threshold)
    }

    /// The least limit; default 1.
    ///
    /// # Panics
    ///
    /// If it is 0 or above the greatest.
    #[must_use]
    #[track_caller]
    pub fn min(self, min: usize) -> Self {
        let max = self.settings.bounds.max();
        self.bounds(Bounds::new(min, max))
    }

    /// The greatest limit; default 5,000.
    ///
    /// # Panics
    ///
    /// If it is below the least.
    #[must_use]
    #[track_caller]
    pub fn max(self, max: usize) -> Self {
        let min = self.settings.bounds.min();
        self.bounds(Bounds::new(min, max))
    }

    /// What moves it now.
    pub fn settings(&self) -> AimdSettings {
        self.settings
    }

    /// Moves what moves it. Bumpless: the limit stays, but for new bounds.
    ///
    /// # Errors
    ///
    /// If a field is out of its range; then nothing changes.
    pub fn set(&mut self, settings: AimdSettings) -> Result<(), Invalid> {
        settings.check()?;
        self.settings = settings;
        self.n = settings.bounds.clamp(self.n);
        Ok(())
    }

    #[track_caller]
    fn bounds(self, bounds: Result<Bounds, Invalid>) -> Self {
        match bounds {
            Ok(bounds) => self.with(|settings| settings.bounds = bounds),
            Err(invalid) => panic!("{invalid}"),
        }
    }

    #[track_caller]
    fn with(mut self, change: impl FnOnce(&mut AimdSettings)) -> Self {
        let mut settings = self.settings;
        change(&mut settings);
        if let Err(invalid) = self.set(settings) {
            panic!("{invalid}");
        }
        self
    }

    fn begin_window(&mut self, now: Instant) {
        self.since = Some(now);
        (self.successes, self.overloaded, self.busy) = (0, 0, 0);
    }

    fn count(&mut self, now: Instant, sample: &Sample) -> bool {
        // A clock that steps back must not make old news of all that is sent from now on.
        self.since = self.since.map(|since| since.min(now));
        if self.since.is_some_and(|since| sample.started < since) {
            return false;
        }
        match sample.outcome {
            Outcome::Success => self.successes += 1,
            Outcome::Overload(_) => self.overloaded += 1,
            Outcome::Failure | Outcome::Ignored => return false,
        }
        // 0.9 of the limit are in use.
        self.busy += u32::from(sample.in_flight >= in_use_from(self.n));
        true
    }

    fn answers(&self) -> u32 {
        self.successes + self.overloaded
    }

    fn move_on(&mut self, now: Instant, sample: &Sample, counted: bool) -> Option<Change> {
        let from = self.setting();
        let paused = sample
            .retry_after
            .filter(|&wait| self.pause.extend(now, now, wait) != Quiet::Same)
            .map(Reason::RetryAfter);
        let moved = counted
            .then(|| self.move_at_the_end_of_a_window(sample.outcome.is_overload()))
            .flatten()
            .inspect(|_| self.begin_window(now));
        let to = self.setting();
        let reason = moved.or(paused).filter(|_| from != to)?;
        Some(Change { from, to, reason })
    }

    fn move_at_the_end_of_a_window(&mut self, overload: bool) -> Option<Reason> {
        let AimdSettings {
            step,
            backoff,
            threshold,
            bounds,
        } = self.settings;
        let of = self.answers();
        let window = self.n.max(WINDOW);
        let most = threshold * window.max(f64::from(of));
        let (overloaded, busy) = (self.overloaded, self.busy);
        if overloaded >= NOISE && f64::from(overloaded) > most {
            self.n = bounds.clamp(self.n * backoff);
            return Some(Reason::Overloaded {
                overloaded,
                of,
                threshold,
            });
        }
        // An overload never raises: a good window ends with a success.
        if f64::from(of) < window || overload {
            return None;
        }
        if 2 * busy >= of {
            self.n = bounds.clamp(self.n + step);
        }
        Some(Reason::Healthy {
            overloaded,
            of,
            threshold,
        })
    }
}

impl Controller for Aimd {
    fn watches_starts(&self) -> bool {
        false
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        if sample.outcome == Outcome::Ignored {
            return None;
        }
        let counted = self.count(now, sample);
        let window_may_end = counted
            && (self.overloaded >= NOISE || f64::from(self.answers()) >= self.n.max(WINDOW));
        // Most answers do neither.
        if !window_may_end && sample.retry_after.is_none() {
            return None;
        }
        self.move_on(now, sample, counted)
    }

    fn setting(&self) -> Setting {
        Setting {
            pause_until: self.pause.until(),
            ..Setting::limit(self.n)
        }
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        if limit.is_finite() {
            self.n = self.settings.bounds.clamp(limit);
            self.begin_window(now);
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;
    use crate::trial::{THROTTLED, Trial};
    use tidegate_core::Units;

    #[test]
    fn each_good_window_adds_a_step() {
        let mut trial = Trial::new(Aimd::new().start(20).step(2.0));
        trial.wave(50.ms(), Outcome::Success);
        assert_eq!(trial.limit(), 22.0);
        let changes = trial.wave(50.ms(), Outcome::Success);
        assert_eq!(trial.limit(), 24.0);
        assert_eq!(
            changes[0].reason.to_string(),
            "all in use, and 0 % of 22 overloaded, within 5 %"
        );
    }

    #[test]
    fn a_burst_of_overloads_cuts_once() {
        let mut trial = Trial::new(Aimd::new().start(100));
        let changes = trial.wave(50.ms(), THROTTLED);
        assert_eq!(changes.len(), 1);
        assert_eq!(trial.limit(), 50.0);
        assert_eq!(
            changes[0].reason.to_string(),
            "100 % of 6 overloaded, above 5 %"
        );
    }

    #[test]
    fn an_instant_that_does_not_move_on_still_cuts_again() {
        let mut trial = Trial::new(Aimd::new().start(100));
        for _ in 0..2 {
            trial.wave(0.ms(), THROTTLED);
        }
        assert!(trial.limit() <= 25.0);
    }

    #[test]
    fn a_stray_overload_changes_nothing() {
        let mut trial = Trial::new(Aimd::new().start(5));
        for _ in 0..20 {
            trial.answer(50.ms(), THROTTLED);
            for _ in 0..20 {
                trial.wait(50.ms());
                trial.answer(50.ms(), Outcome::Success);
            }
        }
        assert!(trial.limit() > 20.0);
    }

    #[test]
    fn an_idle_limit_does_not_grow() {
        let mut trial = Trial::new(Aimd::new().start(20));
        for _ in 0..1_000 {
            trial.wait(50.ms());
            assert_eq!(trial.answer_with(3, 50.ms(), Outcome::Success), None);
        }
        assert_eq!(trial.limit(), 20.0);
    }

    #[test]
    fn a_setting_out_of_range_changes_nothing() {
        let mut law = Aimd::new().start(20);
        let before = law.settings();
        for wrong in [f64::NAN, -1.0, f64::INFINITY] {
            let settings = AimdSettings {
                backoff: wrong,
                step: 2.0,
                ..before
            };
            assert!(law.set(settings).is_err());
            assert_eq!(law.settings(), before);
        }
        let bounds = Bounds::new(1, 10).unwrap();
        law.set(AimdSettings { bounds, ..before }).unwrap();
        assert_eq!(law.setting().limit, 10.0);
    }

    #[test]
    #[should_panic(expected = "backoff must be from 0 to below 1, not 1")]
    fn a_backoff_that_does_not_back_off_is_refused() {
        let _ = Aimd::new().backoff(1.0);
    }
}
