//! A tower [`Layer`](tower_layer::Layer) that limits how many requests start per second.
//!
//! ```
//! use tidegate_core::Units;
//! use tidegate_rate::RateLayer;
//! use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate_core::Error> {
//! let rate = RateLayer::per_second(50.0).burst(10).max_wait(5.s());
//! let handle = rate.handle();
//!
//! let stack = ServiceBuilder::new().layer(rate).service(service_fn(|_: http::Request<()>| async {
//!     Ok::<_, std::io::Error>(http::Response::new(String::from("hello")))
//! }));
//!
//! let response = stack.clone().oneshot(http::Request::new(())).await?;
//! handle.set_pace(Some(tidegate_core::per_second(20.0).burst(5)));
//! # Ok(())
//! # }
//! ```
//!
//! # Rate and limit
//!
//! Ten requests at once that take 10 ms each are 1,000 a second: a limit does not know how often it
//! opens, and a rate does not know how many are still out. For both, give the gate a pace
//! (`GateLayer::new(10).pace(per_second(50.0))`): one door, one queue. As two layers one promise
//! goes: a rate outside of the gate lets everything that passed it during a stall of the upstream
//! burst when the gate opens again; a rate inside holds a slot while it waits.
//!
//! # Waiting
//!
//! A [`Rate`] is always ready. Its future waits, once it is polled, first come, first served,
//! whatever each costs: for its tokens, then for the service below, then for the response. A future
//! that nobody has polled holds neither tokens nor a place in the queue, and one that is dropped
//! before its request was sent gives back what it took. Tokens are spent when the request is sent,
//! whatever becomes of it, unless a layer below refused it: then nothing was sent, and they are given
//! back. With several quotas, or settled costs, that is no more than would be there without the
//! request; otherwise it is all of them, so that a refusal which comes when the bucket has long filled
//! again lets out as much more as that request did cost.
//!
//! Whoever waits needs a tokio runtime with time enabled, and panics where there is none. Its timers
//! tick at 1 ms: see [`Door`] for what that means above 1,000 a second.
//!
//! # Zero
//!
//! A rate of 0, below 0 or not a number is refused where it enters. To stop, use
//! [`pause_until`](Door::pause_until) or [`close`](Door::close).

mod acquire;
mod cost;
mod handle;
mod hinted;
mod keyable;
mod layer;
mod quota;
mod quotas;
mod response_future;
mod service;
mod settle;

pub use acquire::Acquire;
pub use cost::{Cost, One};
pub use handle::RateHandle;
pub use hinted::Hinted;
pub use layer::RateLayer;
pub use quota::{IntoQuota, Quota};
pub use quotas::{And, EachCost, Keep, Kept, Quotas, Settles};
pub use response_future::ResponseFuture;
pub use service::Rate;
pub use settle::{FromBody, FromHead, Reading, Settle, Unsettled};
pub use tidegate_admission::{Charge, Costs, Door};
pub use tidegate_classify::Profile;
