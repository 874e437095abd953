//! A tower [`Layer`](tower_layer::Layer) that holds the share of failed requests at a setpoint by
//! moving how many are in flight: target failure rate in, concurrency out.
//!
//! ```
//! use tidegate_classify::HttpClassifier;
//! use tidegate_governor::GovernorLayer;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let governor = GovernorLayer::new(HttpClassifier::default()).setpoint(0.02);
//! let handle = governor.handle();
//!
//! let stack = ServiceBuilder::new().layer(governor).service(service_fn(
//!     |_: http::Request<()>| async {
//!         Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//!     },
//! ));
//! for _ in 0..100 {
//!     stack.clone().oneshot(http::Request::new(())).await?;
//! }
//! assert!(handle.limit() > 1);
//! handle.set_setpoint(0.05)?;
//! # Ok(())
//! # }
//! ```
//!
//! The setpoint is about the most that fails: where more requests only stand in a queue, the limit stays
//! at a short one and less fails; where the service refuses all at once above its capacity, a limit that
//! moves by whole requests passes it now and then. What it does beside a simulator and on real sockets is
//! in the repository's `docs/wire.md`.
//!
//! Answers that say nothing about the service, as 404 to an `HttpClassifier`, leave the limit at 1 where
//! there are no others: a link checker says `HttpClassifier::default().status(404, Outcome::Success)`.
//!
//! The law is [`Pid`](tidegate_control::Pid): how it moves, and which of its numbers to touch, stands
//! there. It is one service with its gate: do not put it around or inside of another adaptive limit,
//! since each would take the other's cuts for the service's answer.

mod handle;
mod keyable;
mod layer;

pub use handle::GovernorHandle;
pub use layer::{Governor, GovernorLayer};
