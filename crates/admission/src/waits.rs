//! How many may wait, and for how long.

use std::time::Duration;

use tidegate_core::saturating_nanos;

use crate::door::Door;
use crate::times::NEVER;

impl Door {
    /// How many wait to enter.
    pub fn waiting(&self) -> usize {
        self.0.admission.with_queue(|queue| queue.ring.waiting())
    }

    /// How many may wait at most; whoever comes then is refused. Default: no bound.
    ///
    /// Those that wait already stay.
    pub fn set_max_queue(&self, max_queue: usize) {
        self.0
            .admission
            .with_queue(|queue| queue.max_queue = max_queue);
    }

    /// How many may wait at most; `usize::MAX` where there is no bound.
    pub fn max_queue(&self) -> usize {
        self.0.admission.with_queue(|queue| queue.max_queue)
    }

    /// How long one may wait at most.
    pub fn max_wait(&self) -> Option<Duration> {
        let max_wait = self.0.admission.with_queue(|queue| queue.max_wait);
        (max_wait != NEVER).then(|| Duration::from_nanos(max_wait))
    }

    /// How long one may wait at most. Default: for ever.
    ///
    /// Whoever cannot be served in time, as far as pace and pause tell, is refused at once and
    /// leaves no trace; with a wait of nothing, whoever cannot enter at once. Holds for those that
    /// come from now on.
    pub fn set_max_wait(&self, max_wait: Option<Duration>) {
        let max_wait = max_wait.map_or(NEVER, saturating_nanos);
        self.0
            .admission
            .with_queue(|queue| queue.max_wait = max_wait);
    }
}
