//! A tower [`Layer`](tower_layer::Layer) that sends again what may be sent again, and no more of it than
//! a budget allows.
//!
//! ```
//! use bytes::Bytes;
//! use http_body_util::Full;
//! use tidegate_core::Units;
//! use tidegate_retry::{GaveUp, RetryLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), tidegate_core::Error> {
//! let stack = ServiceBuilder::new()
//!     .layer(RetryLayer::exponential(100.ms()..5.s()).deadline(30.s()))
//!     .service(service_fn(|_: http::Request<Full<Bytes>>| async {
//!         let busy = http::Response::builder().status(503).header("retry-after", "40");
//!         Ok::<_, http::Error>(busy.body(Full::<Bytes>::default())?)
//!     }));
//!
//! let response = stack.oneshot(http::Request::default()).await?;
//! assert_eq!(response.status(), 503);
//! let gave_up = GaveUp::of(&response).unwrap(); // at once: 40 seconds are too late
//! assert_eq!((gave_up.attempts, gave_up.retry_after), (1, Some(40.s())));
//! # Ok(())
//! # }
//! ```
//!
//! # Where it stands
//!
//! Above the gate, the rate and the feedback: while it backs off it holds no permit, and a law below sees
//! each attempt by itself. The other way round a permit is held during the back-off.
//! [`deadline`](RetryLayer::deadline) covers all waits below it, so that no timeout is needed above.
//!
//! # What is sent again
//!
//! A failure that may pass: what the [classifier](RetryLayer::classifier) calls an overload or a failure,
//! but for 501, 505 and 511. Then it must be one of these:
//!
//! * doing it twice does no harm: the method is idempotent (RFC 9110 §9.2.2), there is an
//!   `Idempotency-Key`, or [`repeat_if`](RetryLayer::repeat_if) says so;
//! * nothing was processed: the connection was refused or never made, HTTP/2 says so (`REFUSED_STREAM`, a
//!   stream above the last one of a `GOAWAY`), or the status is 429, or one that
//!   [`unprocessed`](RetryLayer::unprocessed) names.
//!
//! reqwest follows redirects and does not tell which connection was refused: see
//! `RetryLayer::no_redirects`. What HTTP/2 refused reqwest itself sends again.
//!
//! A response whose head has come is the caller's: a body that fails is never restarted.
//!
//! So on sockets, where the first attempt fails and the next one would not:
//!
#![doc = include_str!("matrix.md")]
//!
//! # When
//!
//! After the back-off, of which the service is told nothing; after what the service asked for, if it
//! did, and the back-off on top, since all others were told the same moment. A wait of more than
//! [`max_hint`](RetryLayer::max_hint), or one that ends at the deadline or later, is not begun: the caller
//! gets the answer at once, and [`GaveUp`] with it, which has the wait.
//!
//! Each retry is paid from a [`Budget`]. An answer that is not to be had for waiting is not tried again:
//! `x-should-retry: false`, or a body that speaks of an exhausted quota. To know that, and to keep the
//! connection, the body of a failure is read up to 64 KiB and 100 ms before the back-off begins; what was
//! read is kept until the next answer comes.
//!
//! # What was sent
//!
//! [`Error::refused`](tidegate_core::Error::refused) finds something only where nothing was sent in any
//! attempt. Once one was, the refusal of a later one by a layer below does not stand for the call:
//! the error is a [`GaveUp`] that has the status, what was read of the body, and the refusal as its reason.
//! The response itself was let go before the back-off, so that its permit was free.
//!
//! An attempt counts as sent unless tidegate's gates and rates say, each time it is polled, that it waits in
//! them, or the service is not ready. So one that waits in a foreign layer's future, or behind the worker of
//! tower's `Buffer`, counts as sent: it may have been.
//!
//! # In an outage
//!
//! 500 requests per second, each sent up to four times, and for 30 seconds all of them fail: how many
//! attempts more than requests the service has to bear, on average and once what was saved is spent, and
//! whether 99 of 100 requests that begin five seconds after the outage succeed.
//!
#![doc = include_str!("storm.md")]
//!
//! Of ours that is a fifth of the requests, the reserve of 10 per second, and what was saved in the ten
//! seconds before. tower's budget, as its documentation uses it, is fed by successes alone.
//!
//! # What it costs
//!
//! A copy of the request while an attempt is under way: of an `http::Request` its header map and
//! extensions, in which the [`Attempt`] is an entry. There is no lock, and no timer before something has
//! to be waited for. With a deadline, or after a failure, it needs a tokio runtime with time enabled, and
//! panics where there is none.
//!
//! A retry of ours below another one makes single attempts, so that they do not multiply. Over reqwest,
//! where the [task](Attempt::current) alone tells, that holds for every request that is made within an
//! attempt, such as one for a token.

mod account;
mod attempt;
mod backoff;
mod budget;
mod budget_for;
mod budget_per_key;
mod call;
mod clock;
mod drain;
mod gave_up;
mod jitter;
mod last_answer;
mod layer;
mod level;
mod policy;
mod progress;
mod random;
mod replay_body;
mod response_future;
mod retry_body;
mod retry_request;
mod retry_response;
mod rules;
mod sent;
mod service;
mod settings;
mod timed_out;
mod timer;

pub use attempt::Attempt;
pub use budget::Budget;
pub use budget_for::BudgetFor;
pub use budget_per_key::BudgetPerKey;
pub use gave_up::{GaveUp, GaveUpReason};
pub use jitter::Jitter;
pub use layer::RetryLayer;
pub use policy::RetryPolicy;
pub use replay_body::ReplayBody;
pub use response_future::ResponseFuture;
pub use retry_body::RetryBody;
pub use retry_request::RetryRequest;
pub use retry_response::RetryResponse;
pub use service::Retry;
pub use timed_out::AttemptTimedOut;
