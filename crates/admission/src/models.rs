//! The shipped [`Admission`](crate::admission::Admission) under model checkers and against a
//! reference.

mod interleavings;
mod schedules;
mod shell;
