use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use tidegate_admission::Door;
use tidegate_core::{Controller, Observer, Pace, Setting, Snapshot, Steer, WeakSteer};

use crate::control_loop::ControlLoop;

/// Watches and moves a law and its door while they run.
///
/// It is also the [`Door`]: everything that can be read or moved there can be here, and the law goes
/// on from where the door is moved to. A clone is the same loop.
///
/// ```
/// use tidegate_classify::Answer;
/// use tidegate_control::Aimd;
/// use tidegate_core::Outcome;
/// use tidegate_feedback::FeedbackLayer;
/// use tidegate_gate::GateLayer;
///
/// let gate = GateLayer::new(1);
/// let classifier = |_: Answer<'_, u32>| Outcome::Success;
/// let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle());
/// let handle = feedback.handle();
///
/// handle.set_limit(20);
/// handle.law(|aimd| {
///     let mut settings = aimd.settings();
///     settings.threshold = 0.1;
///     aimd.set(settings)
/// })?;
/// handle.freeze();
/// assert_eq!(handle.limit(), 20);
/// # Ok::<_, tidegate_control::Invalid>(())
/// ```
pub struct FeedbackHandle<L>(Arc<ControlLoop<L>>);

impl<L: Controller> FeedbackHandle<L> {
    /// Looks at the law as it is. It is locked meanwhile: requests that are answered wait.
    pub fn read<T>(&self, read: impl FnOnce(&L) -> T) -> T {
        self.0.read(read)
    }

    /// Changes the law; what it then asks for is in force when this returns, and observers hear of it.
    ///
    /// The law is locked meanwhile: requests that are answered wait.
    pub fn law<T>(&self, change: impl FnOnce(&mut L) -> T) -> T {
        self.0.law(change)
    }

    /// Another pace of yours, or none: of it and the law's the slower holds.
    ///
    /// [`Door::set_pace`] is another thing: it overrules the law's pace too, until the law moves that.
    pub fn set_pace(&self, pace: Option<Pace>) {
        self.0.set_pace(pace);
    }

    /// Has `observer` hear what happens here, from now on: what the law hears and does, who had to wait and
    /// who was refused.
    ///
    /// [`Door::observe`] is another thing: of the law it tells nothing, and of each move of the door by
    /// hand when that comes.
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.0.observe(observer);
    }

    /// The limit stays where it is, and the law learns nothing, until [`resume`](Self::resume).
    pub fn freeze(&self) {
        self.0.freeze();
    }

    /// The law goes on from where the limit is.
    pub fn resume(&self) {
        self.0.resume();
    }

    /// Whether the law is held.
    pub fn is_frozen(&self) -> bool {
        self.0.is_frozen()
    }

    /// Whether the law decides without being followed: nothing waits for its limit, its pace or its
    /// pause, and what it asks for is in [`setting`](Self::setting) and in what observers hear. A pace
    /// of the user's stays in force. Back from it, the law is followed from where it then is.
    pub fn shadow(&self, shadow: bool) {
        self.0.set_shadow(shadow);
    }

    /// Whether the law is not followed.
    pub fn is_shadow(&self) -> bool {
        self.0.is_shadow()
    }

    /// What the law asks for, to a fraction of a request.
    pub fn setting(&self) -> Setting {
        self.0.setting()
    }
}

impl<L> FeedbackHandle<L> {
    pub(crate) fn new(control: Arc<ControlLoop<L>>) -> Self {
        Self(control)
    }
}

impl<L: Controller> Deref for FeedbackHandle<L> {
    type Target = Door;

    fn deref(&self) -> &Door {
        self.0.door()
    }
}

impl<L: Controller + 'static> Steer for FeedbackHandle<L> {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.0.door().snapshot();
        snapshot.learns = true;
        snapshot.setpoint = self.0.read(Controller::setpoint);
        snapshot.frozen = self.0.is_frozen();
        snapshot.asked = self.0.asked_in_shadow();
        snapshot.shadow = snapshot.asked.is_some();
        snapshot
    }

    fn downgrade(&self) -> WeakSteer {
        let control = Arc::downgrade(&self.0);
        WeakSteer::new(move || Some(Self(control.upgrade()?).snapshot()))
    }

    fn set_limit(&self, limit: usize) {
        self.0.door().set_limit(limit);
    }

    fn set_pace(&self, pace: Option<Pace>) {
        self.0.set_pace(pace);
    }

    fn pause_until(&self, until: Instant) {
        self.0.door().pause_until(until);
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

impl<L> Clone for FeedbackHandle<L> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L: fmt::Debug> fmt::Debug for FeedbackHandle<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FeedbackHandle").field(&self.0).finish()
    }
}
