//! A tower [`Layer`](tower_layer::Layer) that lets a classifier see the first bytes of a response's
//! body: some APIs say there, and nowhere else, that they throttle.
//!
//! ```
//! use http_body_util::{BodyExt, Full};
//! use tidegate_classify::{HttpClassifier, Peeked};
//! use tidegate_core::{Cause, Outcome};
//! use tidegate_peek::PeekLayer;
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let throttled = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#;
//! let stack = ServiceBuilder::new()
//!     .layer(PeekLayer::new(4_096).status(200).content_type("application/json"))
//!     .service(service_fn(move |_: http::Request<()>| async move {
//!         http::Response::builder()
//!             .header("content-type", "application/json")
//!             .body(Full::<bytes::Bytes>::from(throttled))
//!     }));
//!
//! let classifier = HttpClassifier::default().body(|status, body| {
//!     let says = body.windows(18).any(|window| window == br#""code":"THROTTLED""#);
//!     (status == 200 && says).then_some(Outcome::Overload(Cause::Throttled))
//! });
//! # drop(classifier);
//!
//! let response = stack.oneshot(http::Request::new(())).await?;
//! assert_eq!(response.extensions().get::<Peeked>().unwrap().0, throttled);
//! // The caller gets all of it.
//! assert_eq!(response.into_body().collect().await?.to_bytes(), throttled);
//! # Ok(())
//! # }
//! ```
//!
//! Place it right around the client, below the layer that classifies. What it has seen it leaves in
//! the extensions of the response, as [`Peeked`](tidegate_classify::Peeked).
//!
//! Only responses with one of the statuses and content types that it was told are held back, until so
//! many bytes are there, the body ends or fails, or the time is over. All others pass as they are.

mod body;
mod layer;
mod peekable;
mod response_future;
mod service;

pub use body::PeekedBody;
pub use layer::PeekLayer;
pub use peekable::Peekable;
pub use response_future::ResponseFuture;
pub use service::Peek;
