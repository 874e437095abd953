use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tidegate_core::{Change, Observer, Sample, Steer};

use crate::history::History;

/// Writes down what it hears.
///
/// What it watches holds it; it holds what it watches weakly.
pub(crate) struct Recorder {
    history: Mutex<History>,
    steer: Option<Weak<dyn Steer>>,
}

impl Recorder {
    pub(crate) fn new(history: History, steer: Option<Weak<dyn Steer>>) -> Self {
        Self {
            history: Mutex::new(history),
            steer,
        }
    }

    /// Writes down how what it watches stands.
    pub(crate) fn look(&self, now: Instant) {
        let Some(steer) = self.steer.as_ref().and_then(Weak::upgrade) else {
            return;
        };
        // It may take a lock: not within ours.
        let snapshot = steer.snapshot();
        self.history().look(now, &snapshot);
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn on_sample(&self, now: Instant, sample: &Sample) {
        let new = self.history().sample(now, sample);
        if new {
            self.look(now);
        }
    }

    fn on_change(&self, now: Instant, change: &Change) {
        self.history().change(now, change);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
