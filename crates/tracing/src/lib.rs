//! What a stack of tidegate layers does, said through [`tracing`].
//!
//! ```
//! use tidegate_core::{Units, per_second};
//! use tidegate_gate::GateLayer;
//! use tidegate_retry::RetryLayer;
//! use tidegate_tracing::{Events, SpanLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), tidegate_core::Error> {
//! let events = Events::new("users");
//! let gate = GateLayer::new(10).pace(per_second(50.0)).max_queue(100).hold_head();
//! events.attach(&gate.handle());
//! let retry = RetryLayer::exponential(100.ms()..5.s()).observe(events.observer());
//!
//! let stack = ServiceBuilder::new()
//!     .layer(SpanLayer::new())
//!     .layer(retry)
//!     .layer(gate)
//!     .service(service_fn(|_: http::Request<http_body_util::Empty<bytes::Bytes>>| async {
//!         let body = http_body_util::Full::<bytes::Bytes>::from("hello");
//!         Ok::<_, std::io::Error>(http::Response::new(body))
//!     }));
//! let response = stack.oneshot(http::Request::default()).await?;
//! # assert_eq!(response.status(), 200);
//! # Ok(())
//! # }
//! ```
//!
//! # What is said, and how loud
//!
//! All of it with the target `tidegate`.
//!
//! | level | what |
//! |---|---|
//! | warn | requests were refused: at most one line in each [interval](Events::every), with how many, why, and whose |
//! | debug | a law moved a limit, a pace or a pause, and why, or found its limit moved by hand; those of a plain gate or rate were moved by hand; a retry was decided on; a call was given up, and why; the span of a request |
//! | trace | a request had to wait, or was refused; an answer was no success, one that says nothing of the service included |
//!
//! So nothing is said of a single request at info or above, but of the first one that is refused after
//! a quiet time. A retry is told before its back-off: a layer below may still refuse it. A change and the
//! line about refusals are of the stack, and in no request's span. Doors have a warning of their own, when bodies that nobody reads hold every place.
//!
//! # What is not said
//!
//! That something was closed, that a pace or a pause was moved by hand where there is a law, and some more:
//! see [`Observer::on_change`](tidegate_core::Observer::on_change).
//!
//! What waits for the worker of tower's `Buffer`, in its queue or since a service below is not ready there: such a
//! request is at no door of ours yet. What waits in the future that the worker hands out is seen.
//!
//! Neither a path nor a query, no header, no body, and not the words of an error, in which clients put the
//! whole URL. Names of stacks and keys are [made harmless](tidegate_core::text::name) and cut to 100
//! characters.

mod clock;
mod events;
mod heaviest;
mod refusals;
mod response_future;
mod retried;
mod span;
mod span_layer;
mod spanned;
mod tally;
mod wait;

pub use events::Events;
pub use response_future::ResponseFuture;
pub use span_layer::SpanLayer;
pub use spanned::Spanned;
