//! Tower layers that let outbound HTTP calls go as fast as the other side can bear, and no faster.
//!
//! This crate re-exports the others; each can be used by itself.

pub use tidegate_admission::{Acquire, Door, Permit};
pub use tidegate_core::{
    BoxError, Cause, Change, Controller, Error, InvalidPace, Outcome, Pace, Reason, Refused,
    RefusedReason, Sample, Setting, Snapshot, Start, Steer, Units, littles_law, per, per_hour,
    per_minute, per_second,
};
pub use tidegate_gate::{Gate, GateHandle, GateLayer, Hold, HoldBody, HoldBodyMax, HoldHead};

/// The stacks of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
