//! The words that every tidegate crate shares, and nothing else.
//!
//! A control loop over outbound requests has a sensor, a law, an actuator and a wire between them.
//! This crate names what travels along that wire: the [`Outcome`] of one request, the [`Sample`] a
//! law receives, the [`Setting`] it answers with and the [`Change`] that explains it; [`Steer`],
//! the handle that an operator and a law share; and [`Refused`] and [`Error`], what a caller gets
//! when a layer said no; [`unsent`], how a layer says that a request waits; and [`text`], how what
//! others wrote is shown.
//!
//! It has no dependencies, reads no clock and takes no lock. The features `axum` and `reqwest` let
//! those crates' own idioms work with our errors.

#[cfg(feature = "axum")]
mod axum;
mod change;
mod controller;
mod error;
mod further_paces;
mod keyable;
mod littles_law;
mod nanos;
mod observer;
mod observers;
mod outcome;
mod pace;
#[cfg(feature = "serde")]
mod pace_text;
mod refused;
mod sample;
mod setting;
mod steer;
pub mod text;
mod units;
pub mod unsent;
mod weak_steer;

pub use change::{Change, Reason};
pub use controller::Controller;
pub use error::{BoxError, Error, chain};
pub use further_paces::FurtherPaces;
pub use keyable::{Freshness, Keyable};
pub use littles_law::littles_law;
pub use nanos::saturating_nanos;
pub use observer::Observer;
pub use observers::Observers;
pub use outcome::{Cause, Outcome};
pub use pace::{InvalidPace, Pace, Start, per, per_hour, per_minute, per_second, strict};
pub use refused::{Refused, RefusedReason};
pub use sample::Sample;
pub use setting::Setting;
pub use steer::{Snapshot, Steer};
pub use units::Units;
pub use weak_steer::WeakSteer;
