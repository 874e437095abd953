//! Laws by name: the shipped ones, and known ones to compare them with.

mod catalogue;
mod fixed;

pub use catalogue::{Maker, UnknownLaw, by_name};
pub use fixed::Fixed;
