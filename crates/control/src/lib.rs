//! Control laws as values that you step.
//!
//! A law answers one question: how many requests may be in flight, and how many may start per
//! second, given what came back so far. [`Prober`] finds that from nothing, [`Pid`] (the governor)
//! from a share of failures that you accept, [`Aimd`] by the plain rule that everybody knows. Each
//! implements [`tidegate_core::Controller`]; a layer, a simulator or a test steps it.
//!
//! A law is a plain value: it reads no clock, takes no lock, does no I/O and allocates nothing, and
//! its memory is constant. `cargo bench` shows some 23 ns per request beside its harness.
#![doc = include_str!("../docs/choosing.md")]
#![doc = include_str!("../docs/rules.md")]

mod aimd;
mod bounds;
mod estimator;
mod in_use;
mod invalid;
mod pause;
mod pid;
mod prober;
#[cfg(test)]
mod trial;
#[cfg(doc)]
pub mod tuning;

pub use aimd::{Aimd, AimdSettings};
pub use bounds::Bounds;
pub use invalid::Invalid;
pub use pid::{Pid, PidSettings};
pub use prober::Prober;
