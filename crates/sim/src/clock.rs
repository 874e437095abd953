use std::time::{Duration, Instant};

/// The virtual clock: nanoseconds since the start of a run, as the instants that laws take.
///
/// An `Instant` cannot be made from a number, so one real instant serves as the start; only
/// differences to it are ever seen, and no result depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "an origin for virtual instants, which cannot be made from a number"
    )]
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(crate) fn instant(&self, nanos: u64) -> Instant {
        self.start + Duration::from_nanos(nanos)
    }

    pub(crate) fn nanos(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.start).as_nanos() as u64
    }
}
