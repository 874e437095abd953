//! Tower layers that let outbound HTTP calls go as fast as the other side can bear, and no faster.
//!
//! The layers, the laws, the classifiers and the words that all share, under one name. The simulator
//! (`tidegate-sim`) and the mock upstream (`tidegate-testkit`) are crates of their own.
//!
//! | you know, or want | layer |
//! |---|---|
//! | nothing | [`ProberLayer`] |
//! | what share may fail at most | [`GovernorLayer`] |
//! | how many at once | [`GateLayer`] |
//! | how many a second, minute or hour | [`RateLayer`], or `.pace(..)` of one of the others |
//! | each host, or any key, apart | [`KeyedLayer`] |
//! | what fails to be sent again | [`RetryLayer`] |
//! | a law of your own | [`AdaptiveLayer`], or [`FeedbackLayer`] below a gate |
//!
//! ```
//! use tidegate::{GateLayer, Units, per_second};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate::Error> {
//! let gate = GateLayer::new(10).pace(per_second(50.0).burst(10)).max_wait(30.s());
//! let stack = ServiceBuilder::new().layer(gate).service(service_fn(|_: http::Request<()>| async {
//!     Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//! }));
//! let response = stack.clone().oneshot(http::Request::new(())).await?;
//! # Ok(())
//! # }
//! ```

mod client;
#[cfg(feature = "reqwest")]
mod send_with;

pub use client::Client;
#[cfg(feature = "reqwest")]
pub use send_with::{RequestBuilderExt, SendWith};
#[doc(inline)]
pub use tidegate_admission::{Acquire, Door, LeasedPlace, Permit, Place};
#[cfg(feature = "batch")]
pub use tidegate_batch as batch;
#[cfg(feature = "batch")]
#[doc(inline)]
pub use tidegate_batch::Batch;
#[doc(inline)]
pub use tidegate_body::HookedBody;
#[cfg(feature = "tower-http")]
#[doc(inline)]
pub use tidegate_classify::FromTowerHttp;
#[doc(inline)]
pub use tidegate_classify::{
    Answer, Classify, GrpcClassifier, Hints, HttpClassifier, Profile, RequestHead, ResponseHead,
    Verdict, When, errors, retry_after,
};
#[doc(inline)]
pub use tidegate_control::{Aimd, AimdSettings, Bounds, Invalid, Pid, PidSettings, Prober};
#[doc(inline)]
pub use tidegate_core::{
    BoxError, Cause, Change, Controller, Error, Freshness, InvalidPace, Keyable, Observer, Outcome,
    Pace, Reason, Refused, RefusedReason, Sample, Setting, Snapshot, Start, Steer, Units,
    WeakSteer, chain, littles_law, per, per_hour, per_minute, per_second, strict,
};
#[doc(inline)]
pub use tidegate_feedback::{AdaptiveLayer, Feedback, FeedbackHandle, FeedbackLayer};
#[doc(inline)]
pub use tidegate_gate::{Gate, GateHandle, GateLayer, Hold, HoldBody, HoldBodyMax, HoldHead};
#[doc(inline)]
pub use tidegate_governor::{GovernorHandle, GovernorLayer};
#[cfg(feature = "serde")]
#[doc(inline)]
pub use tidegate_keyed::ConfigError;
#[doc(inline)]
pub use tidegate_keyed::{
    ByIdle, Destination, Key, KeyHandle, KeySettings, Keyed, KeyedHandle, KeyedLayer, PerHost,
    Settings,
};
#[cfg(feature = "metrics")]
pub use tidegate_metrics as metrics;
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use tidegate_metrics::{Measure, MeasureLayer, Metrics};
#[doc(inline)]
pub use tidegate_peek::PeekLayer;
#[doc(inline)]
pub use tidegate_prober::{ProberHandle, ProberLayer};
#[doc(inline)]
pub use tidegate_rate::{Charge, Cost, Costs, IntoQuota, Quota, Rate, RateHandle, RateLayer};
#[cfg(feature = "report")]
#[doc(inline)]
pub use tidegate_report::Report;
#[doc(inline)]
pub use tidegate_retry::{
    Attempt, AttemptTimedOut, Budget, BudgetFor, BudgetPerKey, GaveUp, GaveUpReason, Jitter,
    ReplayBody, Retry, RetryBody, RetryLayer, RetryPolicy, RetryRequest, RetryResponse,
};
#[cfg(feature = "tracing")]
#[doc(inline)]
pub use tidegate_tracing::{Events, SpanLayer};

/// The stacks of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
