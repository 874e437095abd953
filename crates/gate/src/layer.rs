use std::time::Duration;

use tidegate_admission::Door;
use tidegate_classify::Profile;
use tidegate_cooldown::Listener;
use tidegate_core::{Pace, littles_law};
use tower_layer::Layer;

use crate::{Gate, GateHandle, Hinted, HoldBody, HoldBodyMax, HoldHead};

/// Limits how many requests are in flight.
///
/// There is one gate for each `new`: clones of the layer and all services that it makes share it,
/// and the settings below are those of the gate. See the [crate](crate) for an example, and for when a request
/// is over.
#[derive(Clone, Debug)]
pub struct GateLayer<H = HoldBody> {
    door: Door,
    hold: H,
}

impl GateLayer {
    /// At most `limit` in flight, each until its body ends.
    ///
    /// # Panics
    ///
    /// If `limit` is 0.
    #[track_caller]
    pub fn new(limit: usize) -> Self {
        Self {
            door: Door::new("gate", limit),
            hold: HoldBody,
        }
    }

    /// As many as are in flight when `rate_per_second` requests start and each takes `latency`
    /// (Little's law): 2,000 a second at 50 ms are 100.
    ///
    /// # Panics
    ///
    /// If `rate_per_second` is not a finite number above zero.
    #[track_caller]
    pub fn for_throughput(rate_per_second: f64, latency: Duration) -> Self {
        Self::new(littles_law(rate_per_second, latency).get())
    }

    /// As many as this process may use cores: for work that is bound by them.
    pub fn per_core() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Each permit ends with the head of the response rather than with its body.
    #[must_use]
    pub fn hold_head(self) -> GateLayer<HoldHead> {
        GateLayer {
            door: self.door,
            hold: HoldHead,
        }
    }

    /// A body holds its permit no longer than this, from its head on. Default: until it ends.
    ///
    /// That it is overdue is found when somebody needs its place; see
    /// [`Door::overdue`](crate::Door::overdue).
    #[must_use]
    pub fn hold_body_max(self, longest: Duration) -> GateLayer<HoldBodyMax> {
        GateLayer {
            door: self.door,
            hold: HoldBodyMax::new(longest),
        }
    }
}

impl<H> GateLayer<H> {
    /// How many may start per second, too: limit and pace are conditions on one admission, so that
    /// neither holds a slot while it waits for the other. Default: no pace.
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        self.door.set_pace(Some(pace));
        self
    }

    /// How many may wait at most; whoever comes then is refused at once. Default: no bound.
    #[must_use]
    pub fn max_queue(self, max_queue: usize) -> Self {
        self.door.set_max_queue(max_queue);
        self
    }

    /// How long one may wait at most. Whoever cannot be served in time, as far as pace and pause
    /// tell, is refused at once. Default: for ever.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.door.set_max_wait(Some(max_wait));
        self
    }

    /// Listens to what the service says about its limits: waits that it asks for, what remains of its
    /// quotas, and how many there may be in a window. See [`tidegate_cooldown`] for what is done then;
    /// nothing of it makes the gate wider or faster than it was set. For HTTP responses.
    ///
    /// A service that counts several resources apart has a gate for each behind a `KeyedLayer`. Not
    /// for a gate that a law moves: `GovernorLayer`, `ProberLayer` and `AdaptiveLayer` have `hints` of their
    /// own.
    #[must_use]
    pub fn hints(self, profile: Profile) -> GateLayer<Hinted<H>> {
        let listener = Listener::new(self.door.clone(), profile);
        GateLayer {
            hold: Hinted::new(self.hold, listener),
            door: self.door,
        }
    }

    /// How long anybody waits at most for the end of a pause that the service asked for; who would
    /// have to wait longer is refused at once, with when to try again. Default 60 s.
    #[must_use]
    pub fn longest_pause(self, longest: Duration) -> Self {
        self.door.set_longest_pause(longest);
        self
    }

    /// Watches and moves this gate while it runs.
    pub fn handle(&self) -> GateHandle {
        GateHandle::new(self.door.clone())
    }
}

impl<S, H: Clone> Layer<S> for GateLayer<H> {
    type Service = Gate<S, H>;

    fn layer(&self, inner: S) -> Self::Service {
        Gate::new(inner, self.door.clone(), self.hold.clone())
    }
}
