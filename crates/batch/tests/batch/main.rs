//! Runs of a batch, in paused time where time matters.

mod checkpoints;
mod counts;
mod ends;
mod faults;
#[cfg(target_os = "linux")]
mod full;
mod inputs;
mod killed;
mod order;
mod support;
mod threads;
mod windows;
