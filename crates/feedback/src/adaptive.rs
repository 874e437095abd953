use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_admission::{Door, Place};
use tidegate_classify::{Classify, Profile};
use tidegate_cooldown::Listener;
use tidegate_core::{Controller, Pace};
use tidegate_gate::{Attend, Gate, Hinted, HoldBody, HoldBodyMax, HoldHead};
use tower_layer::Layer;

use crate::call::Shared;
use crate::control_loop::ControlLoop;
use crate::{Call, FeedbackHandle, Watch};

/// A gate whose limit a law moves from what the responses say: gate and feedback as one service.
///
/// What the governor and the prober are made of, and the form for a law of your own. There is one
/// door and one law for each `new`, as with [`FeedbackLayer`](crate::FeedbackLayer).
pub struct AdaptiveLayer<C, L, H = HoldBody> {
    shared: Arc<Shared<C, L>>,
    hold: H,
}

impl<C, L: Controller> AdaptiveLayer<C, L> {
    /// Under the name that its refusals give as theirs.
    pub fn new(by: &'static str, classifier: C, law: L) -> Self {
        let control = Arc::new(ControlLoop::new(law, Door::new(by, 1)));
        let shared = Shared {
            classifier,
            control,
        };
        Self {
            shared: Arc::new(shared),
            hold: HoldBody,
        }
    }

    /// See [`GateLayer::hold_head`](tidegate_gate::GateLayer::hold_head).
    #[must_use]
    pub fn hold_head(self) -> AdaptiveLayer<C, L, HoldHead> {
        AdaptiveLayer {
            shared: self.shared,
            hold: HoldHead,
        }
    }

    /// See [`GateLayer::hold_body_max`](tidegate_gate::GateLayer::hold_body_max).
    #[must_use]
    pub fn hold_body_max(self, longest: Duration) -> AdaptiveLayer<C, L, HoldBodyMax> {
        AdaptiveLayer {
            shared: self.shared,
            hold: HoldBodyMax::new(longest),
        }
    }
}

impl<C, L: Controller, H> AdaptiveLayer<C, L, H> {
    /// How many may start per second, whatever the law finds: a pace of its own is never faster.
    /// Default: no pace.
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        self.door().set_pace(Some(pace));
        self
    }

    /// How many may wait at most; whoever comes then is refused at once. Default: no bound.
    #[must_use]
    pub fn max_queue(self, max_queue: usize) -> Self {
        self.door().set_max_queue(max_queue);
        self
    }

    /// How long one may wait at most. Default: for ever.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.door().set_max_wait(Some(max_wait));
        self
    }

    /// Listens to what the service says about its limits, beside the law: also a success that says that
    /// nothing remains of a quota pauses, and what the API says in a dialect of its own. See
    /// [`tidegate_cooldown::Listener`].
    #[must_use]
    pub fn hints(self, profile: Profile) -> AdaptiveLayer<C, L, Hinted<H>> {
        let listener = Listener::new(self.door().clone(), profile).only_pausing();
        AdaptiveLayer {
            shared: self.shared,
            hold: Hinted::new(self.hold, listener),
        }
    }

    /// See [`GateLayer::longest_pause`](tidegate_gate::GateLayer::longest_pause).
    #[must_use]
    pub fn longest_pause(self, longest: Duration) -> Self {
        self.door().set_longest_pause(longest);
        self
    }

    /// See [`FeedbackLayer::late_after`](crate::FeedbackLayer::late_after).
    #[must_use]
    pub fn late_after(self, late_after: Duration) -> Self {
        self.shared.control.late_after(late_after);
        self
    }

    /// Changes the law before it runs.
    #[must_use]
    pub fn law(self, change: impl FnOnce(&mut L)) -> Self {
        self.shared.control.law(change);
        self
    }

    /// Watches and moves the law and its door while they run.
    pub fn handle(&self) -> FeedbackHandle<L> {
        FeedbackHandle::new(Arc::clone(&self.shared.control))
    }

    fn door(&self) -> &Door {
        self.shared.control.door()
    }
}

impl<S, C, L: Controller, H: Clone> Layer<S> for AdaptiveLayer<C, L, H> {
    type Service = Gate<S, Observed<C, L, H>>;

    fn layer(&self, inner: S) -> Self::Service {
        let observed = Observed {
            shared: Arc::clone(&self.shared),
            hold: self.hold.clone(),
        };
        Gate::new(inner, self.door().clone(), observed)
    }
}

impl<C, L, H: Clone> Clone for AdaptiveLayer<C, L, H> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            hold: self.hold.clone(),
        }
    }
}

impl<C, L: fmt::Debug, H> fmt::Debug for AdaptiveLayer<C, L, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptiveLayer")
            .field("control", &self.shared.control)
            .finish_non_exhaustive()
    }
}

/// Takes the sample of each request through a gate.
pub struct Observed<C, L, H = HoldBody> {
    shared: Arc<Shared<C, L>>,
    hold: H,
}

impl<C, L, H: Clone> Clone for Observed<C, L, H> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            hold: self.hold.clone(),
        }
    }
}

impl<C, L: fmt::Debug, H> fmt::Debug for Observed<C, L, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("control", &self.shared.control)
            .finish_non_exhaustive()
    }
}

impl<Req, Res, C, L, H> Attend<Req, Res> for Observed<C, L, H>
where
    C: Classify<Req, Res>,
    L: Controller,
    H: Watch<Res, Call<Req, Res, C, L>, Place>,
{
    type Call = Observing<Req, Res, C, L, H>;

    #[inline]
    fn call(&self, request: &Req) -> Self::Call {
        Observing {
            call: Call::new(Arc::clone(&self.shared), request),
            hold: self.hold.clone(),
        }
    }
}

/// One request through a gate that is [`Observed`].
#[derive(Debug)]
pub struct Observing<Req, Res, C: Classify<Req, Res>, L: Controller, H> {
    call: Call<Req, Res, C, L>,
    hold: H,
}

impl<Req, Res, C, L, H> tidegate_gate::Call<Res> for Observing<Req, Res, C, L, H>
where
    C: Classify<Req, Res>,
    L: Controller,
    H: Watch<Res, Call<Req, Res, C, L>, Place>,
{
    type Response = H::Response;

    #[inline]
    fn send(&mut self) {
        self.call.send();
    }

    #[inline]
    fn respond(mut self, response: Res, place: Place) -> Self::Response {
        self.call.respond(&response);
        self.hold.watch(response, self.call, place)
    }

    #[inline]
    fn fail(mut self, error: &(dyn Error + 'static)) {
        self.call.fail(error);
    }
}
