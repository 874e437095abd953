use std::collections::VecDeque;

use crate::engine::{Event, World};
use crate::scenario::Sampler;
use crate::server::Offer;

/// Workers that serve a queue in order.
#[derive(Debug)]
pub(super) struct Fifo {
    /// As the scenario says, before any step.
    full: u32,
    /// 0 in an outage.
    workers: u32,
    busy: u32,
    room: usize,
    queue: VecDeque<u32>,
}

impl Fifo {
    pub(super) fn new(workers: u32, queue: Option<u32>) -> Self {
        Self {
            full: workers,
            workers,
            busy: 0,
            room: queue.map_or(usize::MAX, |queue| queue as usize),
            queue: VecDeque::new(),
        }
    }

    pub(super) fn offer(&mut self, job: u32, service: &Sampler, world: &mut World) -> Offer {
        if self.busy < self.workers {
            self.busy += 1;
            world.after_draw(service, Event::Done(job));
        } else if self.queue.len() < self.room {
            self.queue.push_back(job);
        } else {
            return Offer::Refused;
        }
        Offer::Taken
    }

    /// A worker is free.
    pub(super) fn done(&mut self, service: &Sampler, world: &mut World) {
        self.busy -= 1;
        self.fill(service, world);
    }

    /// Gives free workers what waits.
    pub(super) fn fill(&mut self, service: &Sampler, world: &mut World) {
        while self.busy < self.workers
            && let Some(job) = self.queue.pop_front()
        {
            self.busy += 1;
            world.after_draw(service, Event::Done(job));
        }
    }

    /// So many parts of its workers from now on; running requests finish.
    pub(super) fn scale(&mut self, capacity: f64) {
        self.workers = if capacity > 0.0 {
            (f64::from(self.full) * capacity).round().max(1.0) as u32
        } else {
            0
        };
    }

    pub(super) fn drain(&mut self) -> Vec<u32> {
        self.queue.drain(..).collect()
    }
}
