use std::time::{Duration, Instant};

/// Instants as seconds since the first one that a law saw.
///
/// Never runs backwards: an instant before the latest `now` is taken as that `now`, one before the
/// first as 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    origin: Option<Instant>,
    latest: Option<Instant>,
    now: f64,
}

impl Clock {
    /// The first instant, if there was none.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.origin.get_or_insert(now);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.origin.is_some()
    }

    pub(crate) fn advance(&mut self, now: Instant) -> f64 {
        self.begin(now);
        if Some(now) > self.latest {
            self.latest = Some(now);
            self.now = self.seconds(now);
        }
        self.now
    }

    pub(crate) fn seconds(&self, at: Instant) -> f64 {
        self.origin
            .map_or(0.0, |origin| seconds(at.saturating_duration_since(origin)))
    }

    /// The latest `now`.
    pub(crate) fn latest(&self) -> Option<Instant> {
        self.latest
    }
}

/// As `as_secs_f64`, without its division: this runs for every request.
pub(crate) fn seconds(duration: Duration) -> f64 {
    duration.as_secs() as f64 + f64::from(duration.subsec_nanos()) * 1e-9
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin for instants by addition"
        )]
        let origin = Instant::now();
        let mut clock = Clock::default();
        assert_eq!(clock.advance(origin + Duration::from_secs(5)), 0.0);
        assert_eq!(clock.advance(origin + Duration::from_secs(9)), 4.0);
        assert_eq!(clock.advance(origin + Duration::from_secs(7)), 4.0);
        assert_eq!(clock.latest(), Some(origin + Duration::from_secs(9)));
        assert_eq!(clock.seconds(origin), 0.0);
    }
}
