use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tidegate_core::{Change, Observer, Refused, Sample, Steer};

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

    /// At the beginning of an interval.
    fn look_if(&self, new: bool, now: Instant) {
        if new {
            self.look(now);
        }
    }

    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn on_sample(&self, now: Instant, sample: &Sample) {
        let new = self.history().sample(now, sample);
        self.look_if(new, now);
    }

    fn on_change(&self, now: Instant, change: &Change) {
        let new = self.history().change(now, change);
        self.look_if(new, now);
    }

    fn on_wait(&self, now: Instant, waited: Duration) {
        let new = self.history().wait(now, waited);
        self.look_if(new, now);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        let new = self.history().refusal(now, &refused.reason, waited);
        self.look_if(new, now);
    }

    fn on_retry(&self, now: Instant, _attempt: u32, _after: Duration) {
        let new = self.history().retry(now);
        self.look_if(new, now);
    }

    fn on_gave_up(&self, now: Instant, why: &'static str, _sent: u32) {
        let new = self.history().give_up(now, why);
        self.look_if(new, now);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
