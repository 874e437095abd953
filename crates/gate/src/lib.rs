//! A tower [`Layer`](tower_layer::Layer) that limits how many requests are in flight.
//!
//! ```
//! use tidegate_core::{Units, per_second};
//! use tidegate_gate::GateLayer;
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate_core::Error> {
//! let gate = GateLayer::new(10).pace(per_second(50.0).burst(10)).max_wait(5.s());
//! let handle = gate.handle();
//!
//! let stack = ServiceBuilder::new().layer(gate).service(service_fn(|_: http::Request<()>| async {
//!     Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//! }));
//!
//! let response = stack.clone().oneshot(http::Request::new(())).await?;
//! assert_eq!(handle.in_flight(), 1); // until the body ends
//! drop(response);
//! assert_eq!(handle.in_flight(), 0);
//!
//! handle.set_limit(20);
//! # Ok(())
//! # }
//! ```
//!
//! # When a request is over
//!
//! When the upstream is free again: at the end of the body, at its error, or when it is dropped.
//! tower's `ConcurrencyLimit` ends at the head, so that a limit of 4 lets any number of streaming
//! responses run at once. [`GateLayer::hold_head`] is that meaning, and the form for services whose
//! response has no body.
//!
//! So read the body where you send the request: a `join_all` or `buffer_unordered` over more unread
//! bodies than the limit waits for itself. The gate warns (a `tracing` event) when every permit is
//! held by a body that nobody polls while others wait.
//!
//! `oneshot` or `call` "exists, but its trait bounds were not satisfied": turn on the feature
//! `reqwest` for `reqwest::Client`, or call `hold_head()` where the response has no body.
//!
//! # Waiting
//!
//! A [`Gate`] is always ready. Its future waits, once it is polled: it takes its permit, then polls
//! the service below until that is ready, then calls it. A future that nobody has polled holds
//! neither a permit nor a place in the queue, and a timeout around the call covers the wait.
//!
//! With a pace, a pause or a longest wait the future needs a tokio runtime with time enabled, and
//! panics where there is none.

mod attend;
mod handle;
mod hinted;
mod hold;
mod keyable;
mod layer;
mod response_future;
mod service;

pub use attend::{Attend, Call};
pub use handle::GateHandle;
pub use hinted::{Hearing, Hinted};
pub use hold::{Held, Hold, HoldBody, HoldBodyMax, HoldHead};
pub use layer::GateLayer;
pub use response_future::ResponseFuture;
pub use service::Gate;
pub use tidegate_admission::{Acquire, Door, LeasedPlace, Permit, Place};
pub use tidegate_classify::Profile;
