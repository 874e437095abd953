use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::Refused;

use crate::tally::Tally;

/// Gathers refusals, so that there is at most one line in each interval.
#[derive(Debug)]
pub(crate) struct Refusals {
    pub(crate) interval: Duration,
    told_at: Option<Instant>,
    /// Those that no line has told of.
    pub(crate) untold: Tally,
}

impl Refusals {
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            told_at: None,
            untold: Tally::default(),
        }
    }

    /// One more; what is to be said now.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        refused: &Refused,
        waited: Duration,
        key: Option<&Arc<str>>,
    ) -> Option<Tally> {
        self.untold.add(refused, waited, key);
        self.due(now)
    }

    /// What is to be said now.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Tally> {
        let quiet = |told_at| now.saturating_duration_since(told_at) >= self.interval;
        if self.untold.is_empty() || !self.told_at.is_none_or(quiet) {
            return None;
        }
        self.told_at = Some(now);
        Some(take(&mut self.untold))
    }
}
