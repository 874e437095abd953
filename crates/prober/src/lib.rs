//! A tower [`Layer`](tower_layer::Layer) that finds how many requests a service can bear, from
//! nothing: no capacity, no rate and no budget need to be known.
//!
//! ```
//! use tidegate_classify::HttpClassifier;
//! use tidegate_prober::ProberLayer;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let prober = ProberLayer::new(HttpClassifier::default());
//! let handle = prober.handle();
//!
//! let stack = ServiceBuilder::new().layer(prober).service(service_fn(
//!     |_: http::Request<()>| async {
//!         Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//!     },
//! ));
//! for _ in 0..100 {
//!     stack.clone().oneshot(http::Request::new(())).await?;
//! }
//! assert!(handle.limit() > 1);
//! handle.set_max_limit(200)?;
//! # Ok(())
//! # }
//! ```
//!
//! Answers that say nothing about the service, as 404 to an `HttpClassifier`, leave the limit at 1 where
//! there are no others: a link checker says `HttpClassifier::default().status(404, Outcome::Success)`.
//!
//! The law is [`Prober`](tidegate_control::Prober): how it moves stands there. It is one service with
//! its gate: do not put it around or inside of another adaptive limit, since each would take the
//! other's cuts for the service's answer.

mod handle;
mod keyable;
mod layer;

pub use handle::ProberHandle;
pub use layer::{Prober, ProberLayer};
