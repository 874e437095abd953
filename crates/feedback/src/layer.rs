use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::Controller;
use tidegate_gate::{HoldBody, HoldHead};
use tower_layer::Layer;

use crate::call::Shared;
use crate::control_loop::ControlLoop;
use crate::{Feedback, FeedbackHandle};

/// Lets a law move a door from what the responses say. Place it right below the gate of that door.
///
/// There is one law for each `new`: clones of the layer and all services that it makes share it, and
/// the settings below are those of the loop. See the [crate](crate) for an example.
pub struct FeedbackLayer<C, L, W = HoldBody> {
    shared: Arc<Shared<C, L>>,
    watch: W,
}

impl<C, L: Controller> FeedbackLayer<C, L> {
    /// The law moves this door: it gets the law's limit at once. A pace that the door has is the
    /// user's, which a pace of the law never exceeds.
    ///
    /// `door` is a [`Door`], or the handle of the layer that it belongs to.
    pub fn new(classifier: C, law: L, door: impl Into<Door>) -> Self {
        let control = Arc::new(ControlLoop::new(law, door.into()));
        let shared = Shared {
            classifier,
            control,
        };
        Self {
            shared: Arc::new(shared),
            watch: HoldBody,
        }
    }

    /// Looks at the head of a response alone: the form for services whose response has no body.
    #[must_use]
    pub fn hold_head(self) -> FeedbackLayer<C, L, HoldHead> {
        FeedbackLayer {
            shared: self.shared,
            watch: HoldHead,
        }
    }
}

impl<C, L: Controller, W> FeedbackLayer<C, L, W> {
    /// From when on a caller that gives up before the answer has waited too long, so that it counts
    /// as a timeout. Default: twice the usual time of a success; 1 second before the first one.
    #[must_use]
    pub fn late_after(self, late_after: Duration) -> Self {
        self.shared.control.late_after(late_after);
        self
    }

    /// Watches and moves the law and its door while they run.
    pub fn handle(&self) -> FeedbackHandle<L> {
        FeedbackHandle::new(Arc::clone(&self.shared.control))
    }
}

impl<S, C, L, W: Clone> Layer<S> for FeedbackLayer<C, L, W> {
    type Service = Feedback<S, C, L, W>;

    fn layer(&self, inner: S) -> Self::Service {
        Feedback::new(inner, Arc::clone(&self.shared), self.watch.clone())
    }
}

impl<C, L, W: Clone> Clone for FeedbackLayer<C, L, W> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            watch: self.watch.clone(),
        }
    }
}

impl<C, L: fmt::Debug, W> fmt::Debug for FeedbackLayer<C, L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedbackLayer")
            .field("control", &self.shared.control)
            .finish_non_exhaustive()
    }
}
