use std::time::Instant;

use tidegate_core::{Pace, Setting, Start};

use crate::clock::Clock;

/// The most that any law may have in flight.
pub(crate) const MAX_LIMIT: usize = 5_000;

/// A client's door: limit, pace and pause, as a law last set them.
#[derive(Debug)]
pub(crate) struct Admission {
    limit: usize,
    pace: Option<Pacer>,
    pause: Option<Instant>,
    pause_nanos: u64,
}

/// Whether a request may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    /// Not before this time.
    At(u64),
    /// Not before another one ends.
    Full,
}

#[derive(Debug)]
struct Pacer {
    pace: Pace,
    tokens: f64,
    filled: u64,
}

impl Pacer {
    fn new(pace: Pace, now: u64) -> Self {
        let tokens = match pace.start_level() {
            Start::Full => f64::from(pace.bucket()),
            Start::One => 1.0,
            Start::Empty => 0.0,
        };
        Self {
            pace,
            tokens,
            filled: now,
        }
    }

    fn fill(&mut self, now: u64) {
        let gained = (now - self.filled) as f64 / self.pace.period_nanos();
        self.tokens = (self.tokens + gained).min(f64::from(self.pace.bucket()));
        self.filled = now;
    }

    /// When a whole token is there.
    fn next(&mut self, now: u64) -> u64 {
        self.fill(now);
        let missing = 1.0 - self.tokens;
        if missing <= 1e-9 {
            return now;
        }
        now + ((missing * self.pace.period_nanos()).ceil() as u64).max(1)
    }
}

impl Admission {
    pub(crate) fn closed() -> Self {
        Self {
            limit: 0,
            pace: None,
            pause: None,
            pause_nanos: 0,
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes over what a law asks for. Tokens gained so far stay.
    pub(crate) fn adopt(&mut self, setting: &Setting, now: u64, clock: &Clock) {
        self.limit = (setting.limit as usize).clamp(1, MAX_LIMIT);
        if setting.pause_until != self.pause {
            self.pause = setting.pause_until;
            self.pause_nanos = self.pause.map_or(0, |until| clock.nanos(until));
        }
        match (&mut self.pace, setting.pace) {
            (None, None) => {}
            (Some(pacer), Some(pace)) if pacer.pace == pace => {}
            (Some(pacer), Some(pace)) => {
                pacer.fill(now);
                pacer.pace = pace;
                pacer.tokens = pacer.tokens.min(f64::from(pace.bucket()));
            }
            (pacer, pace) => *pacer = pace.map(|pace| Pacer::new(pace, now)),
        }
    }

    /// Nobody enters before `until`.
    pub(crate) fn pause(&mut self, until: u64) {
        self.pause = None;
        self.pause_nanos = until;
    }

    pub(crate) fn check(&mut self, now: u64, in_flight: usize) -> Gate {
        if in_flight >= self.limit {
            return Gate::Full;
        }
        if now < self.pause_nanos {
            return Gate::At(self.pause_nanos);
        }
        match &mut self.pace {
            None => Gate::Open,
            Some(pacer) => match pacer.next(now) {
                at if at == now => Gate::Open,
                at => Gate::At(at),
            },
        }
    }

    /// A request starts: its token is gone.
    pub(crate) fn enter(&mut self) {
        if let Some(pacer) = &mut self.pace {
            pacer.tokens -= 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::per_second;

    use super::*;

    fn paced(burst: u32) -> Admission {
        let mut admission = Admission::closed();
        let setting = Setting {
            pace: Some(per_second(100.0).burst(burst)),
            ..Setting::limit(10.0)
        };
        admission.adopt(&setting, 0, &Clock::new());
        admission
    }

    #[test]
    fn a_pace_admits_its_burst_and_then_one_each_period() {
        let mut admission = paced(2);
        for _ in 0..2 {
            assert_eq!(admission.check(0, 0), Gate::Open);
            admission.enter();
        }
        assert_eq!(admission.check(0, 0), Gate::At(10_000_000));
        assert_eq!(admission.check(10_000_000, 0), Gate::Open);
    }

    #[test]
    fn a_limit_is_a_floor_between_one_and_five_thousand() {
        let mut admission = Admission::closed();
        for (limit, usable) in [(0.2, 1), (7.9, 7), (1e9, MAX_LIMIT), (f64::NAN, 1)] {
            admission.adopt(&Setting::limit(limit), 0, &Clock::new());
            assert_eq!(admission.limit(), usable);
        }
        assert_eq!(admission.check(0, 1), Gate::Full);
    }

    #[test]
    fn a_pause_holds_everybody_until_it_ends() {
        let clock = Clock::new();
        let mut admission = Admission::closed();
        let setting = Setting {
            pause_until: Some(clock.instant(500)),
            ..Setting::limit(3.0)
        };
        admission.adopt(&setting, 0, &clock);
        assert_eq!(admission.check(499, 0), Gate::At(500));
        assert_eq!(admission.check(500, 0), Gate::Open);
    }
}
