use std::fmt;
use std::time::{Duration, Instant};

use metrics::{Counter, Label};
use tidegate_core::Observer;

use crate::names::{GAVE_UP, REASON, RETRIES};
use crate::register;

/// Counts the retries that were decided on, and by reason the calls that were given up.
pub(crate) struct Retries {
    attempts: Counter,
    gave_up: [Counter; WHY.len()],
}

/// The names of `GaveUpReason`, and one for all others.
const WHY: [&str; 10] = [
    "attempts",
    "deadline",
    "budget",
    "hint_too_long",
    "may_be_processed",
    "body_not_replayable",
    "quota_exhausted",
    "told_not_to",
    "refused",
    "_OTHER",
];

impl Retries {
    pub(crate) fn new(labels: &[Label]) -> Self {
        let gave_up = |why| register::counter(GAVE_UP, labels, Some((REASON, why)));
        Self {
            attempts: register::counter(RETRIES, labels, None),
            gave_up: WHY.map(gave_up),
        }
    }
}

impl Observer for Retries {
    fn on_retry(&self, _now: Instant, _attempt: u32, _after: Duration) {
        self.attempts.increment(1);
    }

    fn on_gave_up(&self, _now: Instant, why: &'static str, _sent: u32) {
        let known = WHY.iter().position(|known| *known == why);
        self.gave_up[known.unwrap_or(WHY.len() - 1)].increment(1);
    }
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").finish_non_exhaustive()
    }
}
