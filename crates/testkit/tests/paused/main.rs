//! The upstream in process, under a paused clock.

mod agreement;
mod scripts;
mod steering;
mod support;
