//! The door: how many are inside, how many enter per second, and until when nobody does.
//!
//! [`Door`] is what every limiting layer of tidegate stands on. Its limit, pace and pause are
//! conditions on one admission, with one queue: a request enters when all of them hold, and is
//! charged by all or by none.
//!
//! ```
//! use tidegate_admission::Door;
//! use tidegate_core::per_second;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tidegate_core::Refused> {
//! let door = Door::new("gate", 10);
//! door.set_pace(Some(per_second(50.0).burst(10)));
//!
//! let permit = door.acquire(1).await?;
//! assert_eq!(door.in_flight(), 1);
//! drop(permit);
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//!
//! * First come, first served. A release wakes one.
//! * Nothing is lost when a waiter is dropped, at any moment: what it was granted goes to the next.
//! * A future that nobody polls holds neither a permit nor a place. One that is granted and then not
//!   polled for 100 to 150 ms is passed over: the next one is served, and it is the first again when
//!   it is polled.
//! * A limit may move below what is in flight; it is honoured by not admitting.
//! * In every window of length `W` the requests that enter cost at most `burst + rate · W`, where one
//!   that waited for its tokens and was woken late, as timers do, counts as entering when they were
//!   there, up to 2 ms ago. Above 1,000 a second a burst below `rate · 1 ms` is served in steps of the
//!   timer, which ticks at 1 ms. What is given back may be taken again at once.
//! * A request that need not wait takes no lock and allocates nothing.
//!
//! # Runtimes
//!
//! A waiter is woken by whoever leaves. Where only time can let it in (a pace, a pause, a longest
//! wait) a timer is needed: that of each tokio runtime in which such a waiter is polled, or the
//! parked thread itself. There is no background task.

mod account;
mod acquire;
mod admission;
mod advance;
mod arrivals;
mod bills;
mod blocking;
mod bodies;
mod bucket;
mod charges;
mod cooldown;
mod costs;
mod door;
mod drain;
mod effects;
mod granted;
mod hands;
mod inner;
mod leases;
mod limit;
mod meters;
#[cfg(test)]
mod models;
mod observers;
mod paces;
mod pauses;
mod permit;
mod place;
mod primitives;
mod queue;
mod refusal;
mod ring;
mod steer;
mod tab;
mod timer;
mod times;
mod waiter;
mod waits;
mod window;
mod word;

pub use acquire::Acquire;
pub use charges::Charge;
pub use costs::Costs;
pub use door::Door;
pub use hands::ByLaw;
pub use permit::Permit;
pub use place::{LeasedPlace, Place};
pub use tab::Tab;
