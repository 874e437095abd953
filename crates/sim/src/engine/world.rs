use crate::engine::{Agenda, Event};
use crate::random::Random;
use crate::scenario::Sampler;

/// What all parts of a run share: the time, what is going to happen, and chance.
#[derive(Debug)]
pub(crate) struct World {
    /// Nanoseconds since the start.
    pub(crate) now: u64,
    pub(crate) random: Random,
    pub(crate) agenda: Agenda,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: 0,
            random: Random::new(seed),
            agenda: Agenda::default(),
        }
    }

    /// Plans `event` in `delay` nanoseconds.
    pub(crate) fn after(&mut self, delay: u64, event: Event) {
        self.agenda.push(self.now.saturating_add(delay), event);
    }

    /// Plans `event` after a time drawn from `delay`.
    pub(crate) fn after_draw(&mut self, delay: &Sampler, event: Event) {
        let delay = delay.draw(&mut self.random);
        self.after(delay, event);
    }
}
