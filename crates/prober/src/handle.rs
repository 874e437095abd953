use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use tidegate_control::{Bounds, Invalid, Prober};
use tidegate_core::{Observer, Pace, Snapshot, Steer, WeakSteer};
use tidegate_feedback::FeedbackHandle;

/// Watches and moves a prober while it runs: bumpless, and in force when the method returns.
///
/// It is also the [`FeedbackHandle`], and through that the [`Door`](tidegate_feedback::Door):
/// everything that can be read or moved there can be here. A clone is the same prober.
#[derive(Clone, Debug)]
pub struct ProberHandle(FeedbackHandle<Prober>);

impl ProberHandle {
    pub(crate) fn new(handle: FeedbackHandle<Prober>) -> Self {
        Self(handle)
    }

    /// Between which limits it moves.
    pub fn bounds(&self) -> Bounds {
        self.read(Prober::bounds)
    }

    /// The least limit.
    ///
    /// # Errors
    ///
    /// If it is 0 or above the greatest; then nothing changes.
    pub fn set_min_limit(&self, min: usize) -> Result<(), Invalid> {
        self.law(|law| Bounds::new(min, law.bounds().max()).map(|bounds| law.set_bounds(bounds)))
    }

    /// The greatest limit.
    ///
    /// # Errors
    ///
    /// If it is below the least; then nothing changes.
    pub fn set_max_limit(&self, max: usize) -> Result<(), Invalid> {
        self.law(|law| Bounds::new(law.bounds().min(), max).map(|bounds| law.set_bounds(bounds)))
    }
}

impl Deref for ProberHandle {
    type Target = FeedbackHandle<Prober>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Steer for ProberHandle {
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn downgrade(&self) -> WeakSteer {
        self.0.downgrade()
    }

    fn set_limit(&self, limit: usize) {
        Steer::set_limit(&self.0, limit);
    }

    fn set_pace(&self, pace: Option<Pace>) {
        Steer::set_pace(&self.0, pace);
    }

    fn pause_until(&self, until: Instant) {
        Steer::pause_until(&self.0, until);
    }

    fn freeze(&self) {
        self.0.freeze();
    }

    fn resume(&self) {
        self.0.resume();
    }

    fn observe(&self, observer: Arc<dyn Observer>) {
        self.0.observe(observer);
    }
}
