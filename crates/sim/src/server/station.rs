use crate::engine::{Event, World};
use crate::scenario::{Sampler, Server, ServerKind};
use crate::server::bucket::Bucket;
use crate::server::fifo::Fifo;
use crate::server::sharing::{Sharing, Speed};
use crate::server::window::Window;

/// What a server does with a request that reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Taken,
    Refused,
    /// It gets no answer at all.
    Dropped,
}

#[derive(Debug)]
enum Kind {
    Fifo(Fifo),
    Sharing(Sharing),
    Bucket(Bucket),
    Window(Window),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Refusing,
    Silent,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Station {
    kind: Kind,
    service: Sampler,
    state: State,
}

impl Station {
    pub(crate) fn new(server: &Server) -> Self {
        let kind = match server.kind {
            ServerKind::Fifo { workers, queue } => Kind::Fifo(Fifo::new(workers, queue)),
            ServerKind::Ps { capacity } => Kind::Sharing(Sharing::new(Speed::Ps { capacity })),
            ServerKind::Usl { alpha, beta } => {
                Kind::Sharing(Sharing::new(Speed::Usl { alpha, beta }))
            }
            ServerKind::Bucket { rate, burst } => Kind::Bucket(Bucket::new(rate, burst)),
            ServerKind::Window { limit, per } => {
                Kind::Window(Window::new(limit, per.as_nanos() as u64))
            }
        };
        Self {
            kind,
            service: Sampler::from(&server.service),
            state: State::Up,
        }
    }

    /// A request reaches the server.
    pub(crate) fn offer(&mut self, job: u32, world: &mut World) -> Offer {
        match self.state {
            State::Up => {}
            State::Refusing => return Offer::Refused,
            State::Silent => return Offer::Dropped,
        }
        let there = match &mut self.kind {
            Kind::Fifo(fifo) => return fifo.offer(job, &self.service, world),
            Kind::Sharing(sharing) => {
                sharing.offer(job, &self.service, world);
                return Offer::Taken;
            }
            Kind::Bucket(bucket) => bucket.take(world.now),
            Kind::Window(window) => window.take(world.now),
        };
        if !there {
            return Offer::Refused;
        }
        world.after_draw(&self.service, Event::Done(job));
        Offer::Taken
    }

    /// A worker is done.
    pub(crate) fn done(&mut self, world: &mut World) {
        if let Kind::Fifo(fifo) = &mut self.kind {
            fifo.done(&self.service, world);
        }
    }

    /// The request that is done now, unless something changed since `turn`.
    pub(crate) fn progress(&mut self, turn: u32, world: &mut World) -> Option<u32> {
        match &mut self.kind {
            Kind::Sharing(sharing) => sharing.progress(turn, world),
            _ => None,
        }
    }

    /// So many parts of its capacity from now on. Answers with those that it refuses by that.
    pub(crate) fn scale(&mut self, capacity: f64, silent: bool, world: &mut World) -> Vec<u32> {
        self.state = match (capacity > 0.0, silent) {
            (true, _) => State::Up,
            (false, false) => State::Refusing,
            (false, true) => State::Silent,
        };
        match &mut self.kind {
            Kind::Fifo(fifo) => {
                fifo.scale(capacity);
                if self.state == State::Refusing {
                    return fifo.drain();
                }
                fifo.fill(&self.service, world);
            }
            Kind::Sharing(sharing) => sharing.scale(capacity, world),
            Kind::Bucket(bucket) => bucket.scale(world.now, capacity),
            Kind::Window(window) => window.scale(capacity),
        }
        Vec::new()
    }
}
