use std::time::Duration;

/// Something that changes while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Since the start.
    pub at: Duration,
    /// From now on, in parts of what the file says: workers, speed or rate, but not a burst. 0 is an
    /// outage.
    pub capacity: Option<f64>,
    /// An outage drops new requests and keeps its queue, instead of refusing both.
    pub silent: bool,
    /// The round trip from now on.
    pub rtt: Option<Duration>,
}

/// Failures that have nothing to do with load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// Of the arrivals, `0.0..1.0`.
    pub share: f64,
    /// Status of the answer.
    pub status: u16,
}
