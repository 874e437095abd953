use std::time::Duration;

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// There is always another one.
    Closed,
    /// So many, of which each has to succeed. A failed one goes back to the tail.
    Batch {
        /// How many.
        requests: u64,
    },
    /// They arrive by themselves and wait until they are served. A failed one goes back to the
    /// tail.
    Open {
        /// Poisson arrivals, piece by piece.
        rate: Vec<Piece>,
        /// Many at once.
        dumps: Vec<Dump>,
    },
}

/// Poisson arrivals from a time on, until the next piece begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Since the start.
    pub from: Duration,
    /// Requests per second; 0 for silence.
    pub per_second: f64,
}

/// Many requests at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dump {
    /// Since the start.
    pub at: Duration,
    /// How many.
    pub requests: u64,
}
