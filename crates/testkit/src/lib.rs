//! A mock upstream that behaves like an overloaded service.
//!
//! Requests wait in its queue for one of its workers, take a service time drawn from a distribution,
//! and are refused when the queue is full or when they come faster than a rate. A [script](Act) gives
//! single requests a response of their own, or a [`Fault`]. It counts what it sees, and what it
//! executed, and it can be made slower, worse or silent, or taken away while it runs.
//!
//! A request meets these in turn: its script's fault, if that strikes before the request is executed;
//! the rate and the windows; the queue and the workers; the tokens; then whatever is wrong with its
//! response.
//!
//! It listens on loopback ([`start`](UpstreamBuilder::start), or
//! [`start_on_thread`](UpstreamBuilder::start_on_thread) in a runtime of its own), HTTP/1 and HTTP/2
//! with prior knowledge; or it runs in process
//! ([`start_in_process`](UpstreamBuilder::start_in_process)), where all its times are exact under
//! tokio's paused clock.
//!
//! ```
//! use std::time::Duration;
//!
//! use bytes::Bytes;
//! use http::Request;
//! use http_body_util::Empty;
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//! use tidegate_testkit::{Exponential, Upstream};
//! use tower::ServiceExt;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let upstream = Upstream::workers(16)
//!     .queue(16)
//!     .service_time(Exponential(Duration::from_millis(20)))
//!     .start()
//!     .await;
//!
//! let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
//! let response = client.oneshot(Request::get(upstream.uri()).body(Empty::new())?).await?;
//!
//! assert_eq!(response.status(), 200);
//! assert!(upstream.peak_in_flight() <= 32);
//! upstream.set_capacity(0.5);
//! # Ok(())
//! # }
//! ```
//!
//! A service that allows 100 requests per second, fails now and then, and loses one answer in ten:
//!
//! ```
//! use tidegate_testkit::{Fault, Upstream};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let upstream = Upstream::unlimited()
//!     .rate(100.0, 10)
//!     .retry_after()
//!     .fail(0.02, 500)
//!     .faults(0.1, [Fault::ResetBeforeHead, Fault::ResetInBody])
//!     .start()
//!     .await;
//!
//! upstream.set_rate(50.0);
//! upstream.go_silent();
//! upstream.speak();
//! # }
//! ```

mod act;
mod arrived;
mod background;
mod behaviour;
mod body;
mod bucket;
mod builder;
mod clock;
mod connection;
mod connector;
mod damage;
mod direct;
mod exhausted;
mod fault;
mod frames;
mod ledger;
mod link;
mod loopback;
mod meters;
mod model;
mod openai;
mod response;
mod service_time;
mod shared;
mod station;
mod turns;
mod upstream;
mod visit;
mod window;

pub use act::Act;
pub use body::Body;
pub use builder::{Request, UpstreamBuilder};
pub use connector::{Connector, InProcessStream};
pub use direct::{Direct, DirectFuture};
pub use exhausted::{Exhausted, raise_descriptor_limit};
pub use fault::Fault;
pub use ledger::{Arrival, Report, most_in};
pub use response::Response;
pub use service_time::ServiceTime::{self, *};
pub use upstream::Upstream;
