use std::time::{Duration, Instant};

use crate::Outcome;

/// What a law learns from one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it was sent.
    pub started: Instant,
    /// From sending to the head of the answer; `None` where it would mislead, as for a body that
    /// failed after a good head.
    pub latency: Option<Duration>,
    /// How many requests were in flight when it was sent, itself included.
    pub in_flight_at_start: usize,
    /// How many were in flight when its outcome became known, itself included.
    pub in_flight: usize,
    /// What it says about the service.
    pub outcome: Outcome,
    /// How long the service asked us to stay away.
    pub retry_after: Option<Duration>,
}
