//! Control laws as values that you step.

mod aimd;
mod bounds;
mod estimator;
mod invalid;
mod pause;
mod pid;
mod prober;

#[cfg(test)]
mod trial;

pub use aimd::{Aimd, AimdSettings};
pub use bounds::Bounds;
pub use invalid::Invalid;
pub use pid::{Pid, PidSettings};
pub use prober::Prober;
