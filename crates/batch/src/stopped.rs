use std::fmt;

use crate::CheckpointError;

/// Why a run ended before its input did.
#[derive(Debug)]
#[non_exhaustive]
pub enum Stopped {
    /// What it was to run until came.
    Cancelled,
    /// The [steered](crate::Batch::steer) layer is closed: it would refuse all that is left.
    Closed,
    /// A request failed for good, and the run was to stop at the first one.
    FirstFailure,
    /// The checkpoint could not be opened, in which case nothing was sent, or not be written.
    Checkpoint(CheckpointError),
    /// The runtime shut down under it.
    Shutdown,
    /// The results were not taken to their end.
    Dropped,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Closed => f.write_str("its gate is closed"),
            Self::FirstFailure => f.write_str("stopped at the first failure"),
            Self::Checkpoint(error) => write!(f, "stopped: {error}"),
            Self::Shutdown => f.write_str("its runtime has shut down"),
            Self::Dropped => f.write_str("not taken to the end"),
        }
    }
}
