//! The shipped [`Admission`](crate::admission::Admission) under model checkers and against a
//! reference.

mod clocks;
mod cooldowns;
mod costs;
mod interleavings;
mod reference;
mod schedules;
mod sequences;
mod shell;
