use std::ops::Deref;

use tidegate_control::{Bounds, Invalid, Prober};
use tidegate_core::Steer;
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

/// So it is a [`Steer`].
impl AsRef<dyn Steer> for ProberHandle {
    fn as_ref(&self) -> &(dyn Steer + 'static) {
        &self.0
    }
}
