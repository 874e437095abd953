use std::time::Instant;

/// Instants as seconds since the first one that a law saw.
///
/// Never runs backwards: an instant before the latest `now` is taken as that `now`, one before the
/// first as 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    origin: Option<Instant>,
    now: f64,
}

impl Clock {
    pub(crate) fn advance(&mut self, now: Instant) -> f64 {
        self.origin.get_or_insert(now);
        self.now = self.now.max(self.seconds(now));
        self.now
    }

    pub(crate) fn seconds(&self, at: Instant) -> f64 {
        self.origin.map_or(0.0, |origin| {
            at.saturating_duration_since(origin).as_secs_f64()
        })
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;
    use std::time::Duration;

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
        assert_eq!(clock.seconds(origin), 0.0);
    }
}
