use tidegate_core::{Controller, Sample};

use crate::clock::Clock;
use crate::engine::admission::{Admission, Gate};

/// A client: a door, and the law that moves it.
#[derive(Debug)]
pub(super) struct Client {
    /// `None` before it joins, and where a plan moves the door.
    law: Option<Box<dyn Controller>>,
    pub(super) admission: Admission,
    pub(super) joined: bool,
    pub(super) in_flight: usize,
    /// When it is going to be woken, and which of those plans is the last.
    wake_at: u64,
    turn: u32,
}

impl Client {
    pub(super) fn new() -> Self {
        Self {
            law: None,
            admission: Admission::closed(),
            joined: false,
            in_flight: 0,
            wake_at: u64::MAX,
            turn: 0,
        }
    }

    pub(super) fn fly(&mut self, law: Box<dyn Controller>, now: u64, clock: &Clock) {
        self.admission.adopt(&law.setting(), now, clock);
        self.law = Some(law);
    }

    /// A request starts.
    pub(super) fn start(&mut self, now: u64, clock: &Clock) {
        self.in_flight += 1;
        self.admission.enter();
        if let Some(law) = &mut self.law {
            law.on_start(clock.instant(now), self.in_flight);
            self.admission.adopt(&law.setting(), now, clock);
        }
    }

    /// A request ended.
    pub(super) fn end(&mut self, sample: &Sample, now: u64, clock: &Clock) {
        self.in_flight -= 1;
        if let Some(law) = &mut self.law {
            law.on_sample(clock.instant(now), sample);
            self.admission.adopt(&law.setting(), now, clock);
        }
    }

    pub(super) fn check(&mut self, now: u64) -> Gate {
        self.admission.check(now, self.in_flight)
    }

    /// Which wake-up to plan so that it sends again at `at`; `None` if one comes no later.
    pub(super) fn plan_wake(&mut self, at: u64) -> Option<u32> {
        if self.wake_at <= at {
            return None;
        }
        self.wake_at = at;
        self.turn = self.turn.wrapping_add(1);
        Some(self.turn)
    }

    /// Whether the wake-up `turn` is still the last that was planned.
    pub(super) fn wake(&mut self, turn: u32) -> bool {
        let last = turn == self.turn;
        if last {
            self.wake_at = u64::MAX;
        }
        last
    }
}
