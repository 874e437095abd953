//! A tower [`Layer`](tower_layer::Layer) that lets a law move a limit from what the responses say.
//!
//! The wire of a control loop: a [`Classify`](tidegate_classify::Classify) says what each answer
//! means, a [`Controller`](tidegate_core::Controller) learns from it, and what it asks for is done
//! at the [`Door`] of the gate outside.
//!
//! ```
//! use tidegate_classify::Answer;
//! use tidegate_control::Aimd;
//! use tidegate_core::{Cause, Outcome};
//! use tidegate_feedback::FeedbackLayer;
//! use tidegate_gate::GateLayer;
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate_core::Error> {
//! let gate = GateLayer::new(1);
//! let classifier = |answer: Answer<'_, http::Response<String>>| match answer {
//!     Ok(response) if response.status() == 429 => Outcome::Overload(Cause::Throttled),
//!     Ok(_) => Outcome::Success,
//!     Err(_) => Outcome::Failure,
//! };
//! let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle());
//! let handle = feedback.handle();
//!
//! let stack = ServiceBuilder::new().layer(gate).layer(feedback).service(service_fn(
//!     |_: http::Request<()>| async {
//!         Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//!     },
//! ));
//! for _ in 0..100 {
//!     stack.clone().oneshot(http::Request::new(())).await?;
//! }
//! assert!(handle.limit() > 1);
//! # Ok(())
//! # }
//! ```
//!
//! # What is counted
//!
//! One sample for each request, stamped when it is sent, that is at the first poll of its future:
//!
//! * **A response**: what the classifier says at its head, or at the end of its body. A body that
//!   fails after its head was a success adds one correction, without a latency.
//! * **An error**: what the classifier says. A refusal of a tidegate layer below is never counted:
//!   nothing was sent.
//! * **A drop before the answer**: the caller gave up. Early, it says nothing about the service (a
//!   user closed a page); after twice the usual time it is a timeout, since the commonest program
//!   wraps its whole stack in `tokio::time::timeout`. See [`FeedbackLayer::late_after`].
//!
//! A body that its reader drops after a good head is not counted again. Let a timeout inside of this
//! layer watch over bodies: its error is the correction.
//!
//! # Services without a body
//!
//! Call [`hold_head`](FeedbackLayer::hold_head) on this layer and on the gate; otherwise `oneshot` or
//! `call` "exists, but its trait bounds were not satisfied".
//!
//! # One law for a door
//!
//! Two laws on one door, or two adaptive limits on top of each other, take each other's cuts for the
//! service's answer. Moving the limit by hand is fine, through any handle: the law goes on from
//! there.

mod adaptive;
mod call;
mod control_loop;
mod handle;
mod keyable;
mod layer;
mod patience;
mod response_future;
mod service;
mod told;
mod waits;
mod watch;

pub use adaptive::{AdaptiveLayer, Observed, Observing};
pub use call::Call;
pub use handle::FeedbackHandle;
pub use layer::FeedbackLayer;
pub use response_future::ResponseFuture;
pub use service::Feedback;
pub use tidegate_admission::Door;
pub use watch::Watch;
