use std::time::{Duration, Instant};

/// What stands for a wait past the end of the clock.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// Until when nobody may start. It is extended and never shortened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pause {
    until: Option<Instant>,
}

impl Pause {
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Asks for quiet until `wait` after `from`. Whether a pause began with it: none was running.
    pub(crate) fn extend(&mut self, now: Instant, from: Instant, wait: Duration) -> bool {
        let until = from
            .checked_add(wait)
            .or_else(|| from.checked_add(FOR_EVER));
        let running = self.until.is_some_and(|until| until > now);
        self.until = self.until.max(until.filter(|&until| until > now));
        !running && self.until.is_some_and(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_begins_once_and_is_never_shortened() {
        #[expect(
            clippy::disallowed_methods,
            reason = "an origin for instants by addition"
        )]
        let now = Instant::now();
        let mut pause = Pause::default();
        assert!(pause.extend(now, now, Duration::from_secs(2)));
        assert!(!pause.extend(now, now, Duration::from_secs(1)));
        assert_eq!(pause.until(), Some(now + Duration::from_secs(2)));
        let later = now + Duration::from_secs(2);
        assert!(!pause.extend(later, now, Duration::from_secs(1)));
        assert!(pause.extend(later, later, Duration::MAX));
        assert!(pause.until().unwrap() > later + Duration::from_secs(86_400));
    }
}
