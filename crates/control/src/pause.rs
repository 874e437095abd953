use std::time::{Duration, Instant};

/// What stands for a wait past the end of the clock.
const FOR_EVER: Duration = Duration::from_secs(365 * 86_400);

/// Until when nobody may start. It is extended and never shortened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pause {
    until: Option<Instant>,
}

/// What a wish for quiet did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quiet {
    /// Nothing: as much was already asked for.
    Same,
    /// It made a pause longer that was running.
    Longer,
    /// It began a pause.
    Begun,
}

impl Pause {
    pub(crate) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Asks for quiet until `wait` after `from`.
    pub(crate) fn extend(&mut self, now: Instant, from: Instant, wait: Duration) -> Quiet {
        let until = from
            .checked_add(wait)
            .or_else(|| from.checked_add(FOR_EVER))
            .filter(|&until| until > now);
        if until <= self.until {
            return Quiet::Same;
        }
        let running = self.until.is_some_and(|until| until > now);
        self.until = until;
        if running { Quiet::Longer } else { Quiet::Begun }
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
        let second = Duration::from_secs(1);
        let mut pause = Pause::default();
        assert_eq!(pause.extend(now, now, 2 * second), Quiet::Begun);
        assert_eq!(pause.extend(now, now, second), Quiet::Same);
        assert_eq!(pause.extend(now, now, 3 * second), Quiet::Longer);
        assert_eq!(pause.until(), Some(now + 3 * second));
        let later = now + 3 * second;
        assert_eq!(pause.extend(later, now, second), Quiet::Same);
        assert_eq!(pause.extend(later, later, Duration::MAX), Quiet::Begun);
        assert!(pause.until().unwrap() > later + 86_400 * second);
    }
}
