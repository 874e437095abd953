//! The run itself: events in order of time, and what each of them does.

mod admission;
mod agenda;
mod backlog;
mod changes;
mod client;
mod jobs;
mod pilot;
mod recorder;
mod run;
mod simulation;
mod traffic;
mod world;

pub(crate) use admission::MAX_LIMIT;
pub(crate) use agenda::{Agenda, Event};
pub use pilot::Seat;
pub(crate) use pilot::{Conditions, Pilot};
pub(crate) use run::fly;
pub use run::run;
pub(crate) use world::World;
