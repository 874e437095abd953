use std::fmt;
use std::time::{Duration, Instant};

use metrics::{Counter, Label};
use tidegate_core::Observer;

use crate::names::RETRIES;
use crate::register;

/// Counts the retries that were decided on.
pub(crate) struct Retries(Counter);

impl Retries {
    pub(crate) fn new(labels: &[Label]) -> Self {
        Self(register::counter(RETRIES, labels, None))
    }
}

impl Observer for Retries {
    fn on_retry(&self, _now: Instant, _attempt: u32, _after: Duration) {
        self.0.increment(1);
    }
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").finish_non_exhaustive()
    }
}
