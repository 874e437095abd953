//! Drives many requests through a tower `Service`, in bounded memory.
//!
//! ```
//! use http::{Request, Response};
//! use http_body_util::BodyExt;
//! use tidegate_batch::Batch;
//! use tower::service_fn;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let stack = service_fn(|request: Request<()>| async move {
//!     let status = if request.uri() == "/busy" { 503 } else { 200 };
//!     Response::builder().status(status).body(String::from("hello"))
//! });
//!
//! let requests = ["/a", "/b", "/busy"].map(Request::get);
//! let summary = Batch::new(stack, requests.map(|request| request.body(()).unwrap()))
//!     .each(|index, answer| async move {
//!         let response = answer?;
//!         if !response.status().is_success() {
//!             return Err(response.status().to_string().into());
//!         }
//!         let page = response.into_body().collect().await?.to_bytes();
//!         println!("{index}: {} bytes", page.len());
//!         Ok::<_, tidegate_core::BoxError>(())
//!     })
//!     .run()
//!     .await;
//!
//! assert_eq!((summary.counts.succeeded, summary.counts.failed), (2, 1));
//! assert_eq!(summary.first_failure.as_ref().unwrap().0, 2);
//! # }
//! ```
//!
//! The input is an iterator or a [stream](Batch::stream), and is asked for a request only when there is
//! room for it: as many as the limit of a [steered](Batch::steer) layer lets through, and a few more. The
//! closure sees each answer in the task of its request, and reads its body there. What it makes of them can
//! be taken as a [stream](Results) too, as they end or [in order](Batch::in_order).
//!
//! # What is a success
//!
//! What the closure says: the `Ok` of its last try. It is given what the stack answered, errors
//! included, and a 503 is no error until the closure makes one of it. An error that it returns is tried
//! again, where that is asked for, unless it is a [`Failed`] for good. A request that failed at last, when
//! a layer had refused to send it, counts as refused, by whatever error the closure says so; any other
//! failure, a panic too, counts as failed. None of this is what a law hears: that is the classifier's.
//!
//! # What is kept when it ends early
//!
//! [`until`](Batch::until) and [`stop_at_first_failure`](Batch::stop_at_first_failure) let what is under way
//! end; the [`Summary`] has what is left. A run that is dropped ends what is under way at once. With a
//! [`Checkpoint`] the next run goes on where this one ended, however it ended.
//!
//! # For threads
//!
//! [`blocking`] does the same for clients that block. [`Cores`] is for work that keeps a core busy.

#[cfg(feature = "indicatif")]
mod bar;
mod batch;
pub mod blocking;
mod checkpoint;
mod clock;
mod cores;
mod counts;
mod ended;
mod failed;
mod job;
mod journal;
mod ledger;
mod left;
mod moment;
mod numbers;
mod outbox;
mod panicked;
mod progress;
mod queue;
mod refusals;
mod results;
mod settings;
mod stopped;
mod summary;
mod tail;
mod tally;
mod told;
mod tries;
mod window;

#[cfg(feature = "indicatif")]
pub use bar::Bar;
pub use batch::Batch;
pub use checkpoint::{Checkpoint, CheckpointError};
pub use cores::Cores;
pub use counts::Counts;
pub use ended::Ended;
pub use failed::{Failed, Finish};
pub use left::Left;
pub use moment::Moment;
pub use panicked::Panicked;
pub use progress::Progress;
pub use refusals::Refusals;
pub use results::Results;
pub use stopped::Stopped;
pub use summary::Summary;
