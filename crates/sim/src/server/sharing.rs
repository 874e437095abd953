use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::engine::{Event, World};
use crate::scenario::Sampler;

/// How fast each of `n` requests runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Speed {
    Ps { capacity: f64 },
    Usl { alpha: f64, beta: f64 },
}

impl Speed {
    fn of(self, n: usize, scale: f64) -> f64 {
        let n = n as f64;
        match self {
            Self::Ps { capacity } => (capacity * scale / n).min(1.0),
            Self::Usl { alpha, beta } => scale / (1.0 + (n - 1.0) * (alpha + beta * n)),
        }
    }
}

/// A request that ends once `until` nanoseconds of work were done for everybody.
#[derive(Clone, Copy, Debug)]
struct Running {
    until: f64,
    order: u64,
    job: u32,
}

impl Ord for Running {
    fn cmp(&self, other: &Self) -> Ordering {
        self.until
            .total_cmp(&other.until)
            .then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Running {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Running {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Running {}

/// A server that all its requests share.
///
/// `work` is the virtual time of the server: how much has been done for each request that was there
/// from the start. It runs at the speed that one request has now, so that an arrival changes the
/// speed of everybody and the end of nobody.
#[derive(Debug)]
pub(super) struct Sharing {
    speed: Speed,
    scale: f64,
    running: BinaryHeap<Reverse<Running>>,
    work: f64,
    seen: u64,
    order: u64,
    turn: u32,
}

impl Sharing {
    pub(super) fn new(speed: Speed) -> Self {
        Self {
            speed,
            scale: 1.0,
            running: BinaryHeap::new(),
            work: 0.0,
            seen: 0,
            order: 0,
            turn: 0,
        }
    }

    pub(super) fn offer(&mut self, job: u32, service: &Sampler, world: &mut World) {
        self.advance(world.now);
        let until = self.work + service.draw(&mut world.random) as f64;
        let order = self.order;
        self.order += 1;
        self.running.push(Reverse(Running { until, order, job }));
        self.plan(world);
    }

    /// The request that is done now, unless something changed since `turn`.
    pub(super) fn progress(&mut self, turn: u32, world: &mut World) -> Option<u32> {
        if turn != self.turn {
            return None;
        }
        let Reverse(done) = self.running.pop()?;
        self.work = done.until;
        self.seen = world.now;
        self.plan(world);
        Some(done.job)
    }

    /// So many parts of its speed from now on. In an outage what runs goes on as before.
    pub(super) fn scale(&mut self, capacity: f64, world: &mut World) {
        self.advance(world.now);
        if capacity > 0.0 {
            self.scale = capacity;
        }
        self.plan(world);
    }

    fn advance(&mut self, now: u64) {
        if !self.running.is_empty() {
            let speed = self.speed.of(self.running.len(), self.scale);
            self.work += (now - self.seen) as f64 * speed;
        }
        self.seen = now;
    }

    fn plan(&mut self, world: &mut World) {
        self.turn = self.turn.wrapping_add(1);
        let Some(Reverse(next)) = self.running.peek() else {
            self.work = 0.0;
            return;
        };
        let speed = self.speed.of(self.running.len(), self.scale);
        let wait = ((next.until - self.work) / speed).max(0.0).round() as u64;
        world.after(wait, Event::Progress { turn: self.turn });
    }
}
