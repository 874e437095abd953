use std::ops::Deref;

use tidegate_control::{Invalid, Pid, PidSettings};
use tidegate_core::Steer;
use tidegate_feedback::FeedbackHandle;

/// Watches and moves a governor while it runs: bumpless, and in force when the method returns.
///
/// It is also the [`FeedbackHandle`], and through that the [`Door`](tidegate_feedback::Door):
/// everything that can be read or moved there can be here. A clone is the same governor.
#[derive(Clone, Debug)]
pub struct GovernorHandle(FeedbackHandle<Pid>);

impl GovernorHandle {
    pub(crate) fn new(handle: FeedbackHandle<Pid>) -> Self {
        Self(handle)
    }

    /// What moves it now.
    pub fn settings(&self) -> PidSettings {
        self.read(Pid::settings)
    }

    /// See [`PidSettings::setpoint`].
    ///
    /// # Errors
    ///
    /// If it is out of its range; then nothing changes.
    pub fn set_setpoint(&self, setpoint: f64) -> Result<(), Invalid> {
        self.set(|settings| settings.setpoint = setpoint)
    }

    /// See [`PidSettings::kp`] and its neighbours.
    ///
    /// # Errors
    ///
    /// If one of them is out of its range; then nothing changes.
    pub fn set_gains(&self, kp: f64, ki: f64, kd: f64) -> Result<(), Invalid> {
        self.set(|settings| (settings.kp, settings.ki, settings.kd) = (kp, ki, kd))
    }

    /// The least limit.
    ///
    /// # Errors
    ///
    /// If it is 0 or above the greatest; then nothing changes.
    pub fn set_min_limit(&self, min: usize) -> Result<(), Invalid> {
        self.set(|settings| settings.min = min)
    }

    /// The greatest limit.
    ///
    /// # Errors
    ///
    /// If it is below the least; then nothing changes.
    pub fn set_max_limit(&self, max: usize) -> Result<(), Invalid> {
        self.set(|settings| settings.max = max)
    }

    fn set(&self, change: impl FnOnce(&mut PidSettings)) -> Result<(), Invalid> {
        self.law(|law| {
            let mut settings = law.settings();
            change(&mut settings);
            law.set(settings)
        })
    }
}

impl Deref for GovernorHandle {
    type Target = FeedbackHandle<Pid>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// So it is a [`Steer`].
impl AsRef<dyn Steer> for GovernorHandle {
    fn as_ref(&self) -> &(dyn Steer + 'static) {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Instant;

    use tidegate_classify::HttpClassifier;
    use tidegate_core::{Change, Observer};

    use super::*;
    use crate::GovernorLayer;

    #[test]
    fn who_watches_it_weakly_sees_what_the_handle_sees_and_does_not_keep_it() {
        let layer = GovernorLayer::new(HttpClassifier::default()).setpoint(0.02);
        let (handle, watching) = (layer.handle(), layer.handle().downgrade());
        handle.freeze();
        assert_eq!(watching.snapshot(), Some(handle.snapshot()));
        assert_eq!(handle.snapshot().setpoint, Some(0.02));
        drop(layer);
        assert!(watching.snapshot().is_some());
        drop(handle);
        assert_eq!(watching.snapshot(), None);
    }

    /// Counts what it is told.
    #[derive(Debug, Default)]
    struct Told(AtomicUsize);

    impl Observer for Told {
        fn on_change(&self, _: Instant, _: &Change) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn looking_at_it_tells_nobody_of_a_limit_that_was_moved_by_hand() {
        let handle = GovernorLayer::new(HttpClassifier::default()).handle();
        let told = Arc::new(Told::default());
        handle.observe(Arc::clone(&told) as _);
        Steer::set_limit(&handle, 20);
        assert_eq!(
            (handle.snapshot().limit, handle.settings().setpoint),
            (20, 0.05)
        );
        assert_eq!(told.0.load(Relaxed), 0);
        handle.set_setpoint(0.02).unwrap();
        assert_eq!(told.0.load(Relaxed), 1);
    }
}
