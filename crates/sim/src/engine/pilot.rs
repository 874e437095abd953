use std::fmt;
use std::time::{Duration, Instant};

use tidegate_core::{Controller, Setting};

/// What a law is made for: one client of one run.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// Which client, from 0 on.
    pub client: usize,
    /// Seed of the run.
    pub seed: u64,
    /// When the client joins; the `now` of later calls counts on from here.
    pub now: Instant,
    /// The wall clock at `now`, the same for all clients: since the start of the run.
    pub phase: Duration,
}

/// How things stand for somebody who can see everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Conditions {
    /// In parts of the full one; 0 in an outage.
    pub(crate) capacity: f64,
    pub(crate) rtt: Duration,
    /// How many clients have joined, or join now.
    pub(crate) clients: usize,
}

/// What each client does as things stand; `None`: pause.
type Plan<'a> = &'a dyn Fn(&Conditions) -> Option<Setting>;

/// Who moves the doors.
pub(crate) enum Pilot<'a> {
    /// A law for each client.
    Laws(&'a (dyn Fn(&Seat) -> Box<dyn Controller> + Sync)),
    /// Somebody who can see everything.
    Plan(Plan<'a>),
}

impl fmt::Debug for Pilot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Laws(_) => "Laws",
            Self::Plan(_) => "Plan",
        })
    }
}
