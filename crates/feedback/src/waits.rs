use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::{Observer, Refused};

/// Hears at the door of a law who waits and who is refused. Of a move of the door the law tells, once it
/// goes on from there.
#[derive(Debug)]
pub(crate) struct Waits(pub(crate) Arc<dyn Observer>);

impl Observer for Waits {
    fn on_wait(&self, now: Instant, waited: Duration) {
        self.0.on_wait(now, waited);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        self.0.on_refused(now, refused, waited);
    }
}
