use std::time::{Duration, SystemTime};

use tidegate_control::Pid;
use tidegate_core::Pace;
use tidegate_feedback::{AdaptiveLayer, Observed};
use tidegate_gate::{Gate, Hinted, HoldBody, HoldBodyMax, HoldHead, Profile};
use tower_layer::Layer;

use crate::GovernorHandle;

/// A service behind a governor. See [`GovernorLayer`].
pub type Governor<S, C, H = HoldBody> = Gate<S, Observed<C, Pid, H>>;

/// Holds the share of failed requests at a setpoint by moving how many are in flight.
///
/// There is one governor for each `new`: clones of the layer and all services that it makes share it,
/// and the settings below are its settings. See the [crate](crate) for an example, and for where it stands.
#[derive(Clone, Debug)]
pub struct GovernorLayer<C, H = HoldBody>(AdaptiveLayer<C, Pid, H>);

impl<C> GovernorLayer<C> {
    /// Setpoint 5 %, limit 1 at first, between 1 and 5,000.
    pub fn new(classifier: C) -> Self {
        Self(AdaptiveLayer::new(
            "governor",
            classifier,
            Pid::new(wall_clock()),
        ))
    }

    /// Each permit ends with the head of the response rather than with its body: the form for services
    /// whose response has no body.
    #[must_use]
    pub fn hold_head(self) -> GovernorLayer<C, HoldHead> {
        GovernorLayer(self.0.hold_head())
    }

    /// A body holds its permit no longer than this, from its head on. Default: until it ends.
    #[must_use]
    pub fn hold_body_max(self, longest: Duration) -> GovernorLayer<C, HoldBodyMax> {
        GovernorLayer(self.0.hold_body_max(longest))
    }
}

impl<C, H> GovernorLayer<C, H> {
    /// The share of failed requests to hold, above `0.0` and below `1.0`; default 0.05.
    ///
    /// # Panics
    ///
    /// Unless it is within.
    #[must_use]
    #[track_caller]
    pub fn setpoint(self, setpoint: f64) -> Self {
        self.law(|law| law.setpoint(setpoint))
    }

    /// Gain on the change of the error; default 0.10.
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn kp(self, kp: f64) -> Self {
        self.law(|law| law.kp(kp))
    }

    /// Gain on the error; default 0.18.
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn ki(self, ki: f64) -> Self {
        self.law(|law| law.ki(ki))
    }

    /// Gain on the bend of the filtered measurement; default 0.10.
    ///
    /// # Panics
    ///
    /// Unless it is finite and at least 0.
    #[must_use]
    #[track_caller]
    pub fn kd(self, kd: f64) -> Self {
        self.law(|law| law.kd(kd))
    }

    /// The limit at first; default 1.
    #[must_use]
    pub fn start(self, limit: usize) -> Self {
        self.law(|law| law.start(limit))
    }

    /// The least limit; default 1.
    ///
    /// # Panics
    ///
    /// If it is 0 or above the greatest.
    #[must_use]
    #[track_caller]
    pub fn min(self, min: usize) -> Self {
        self.law(|law| law.min(min))
    }

    /// The greatest limit; default 5,000.
    ///
    /// # Panics
    ///
    /// If it is below the least.
    #[must_use]
    #[track_caller]
    pub fn max(self, max: usize) -> Self {
        self.law(|law| law.max(max))
    }

    /// How many may start per second, whatever it finds: a pace of its own is never faster. Default:
    /// no pace.
    #[must_use]
    pub fn pace(self, pace: Pace) -> Self {
        Self(self.0.pace(pace))
    }

    /// How many may wait at most; whoever comes then is refused at once. Default: no bound.
    #[must_use]
    pub fn max_queue(self, max_queue: usize) -> Self {
        Self(self.0.max_queue(max_queue))
    }

    /// How long one may wait at most. Whoever cannot be served in time, as far as pace and pause
    /// tell, is refused at once. Default: for ever.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        Self(self.0.max_wait(max_wait))
    }

    /// Listens to what the service says about its limits, beside the law: also a success that says that
    /// nothing remains of a quota pauses, and what the API says in a dialect of its own.
    #[must_use]
    pub fn hints(self, profile: Profile) -> GovernorLayer<C, Hinted<H>> {
        GovernorLayer(self.0.hints(profile))
    }

    /// How long anybody waits at most for the end of a pause that the service asked for; who would have to
    /// wait longer is refused at once, with when to try again. Default 60 s. With [`hints`](Self::hints).
    #[must_use]
    pub fn longest_pause(self, longest: Duration) -> Self {
        Self(self.0.longest_pause(longest))
    }

    /// From when on a caller that gives up before the answer has waited too long, so that it counts
    /// as a timeout. Default: twice the usual time of a success; 1 second before the first one.
    #[must_use]
    pub fn late_after(self, late_after: Duration) -> Self {
        Self(self.0.late_after(late_after))
    }

    /// Watches and moves it while it runs.
    pub fn handle(&self) -> GovernorHandle {
        GovernorHandle::new(self.0.handle())
    }

    #[track_caller]
    fn law(self, change: impl FnOnce(Pid) -> Pid) -> Self {
        Self(self.0.law(|law| *law = change(law.clone())))
    }
}

impl<S, C, H: Clone> Layer<S> for GovernorLayer<C, H> {
    type Service = Governor<S, C, H>;

    fn layer(&self, inner: S) -> Self::Service {
        self.0.layer(inner)
    }
}

/// The phase of the law's probes: read once, so that clients of one service probe together.
#[expect(clippy::disallowed_methods, reason = "wall time, for the law's phase")]
fn wall_clock() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}
