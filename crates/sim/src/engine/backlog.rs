use std::collections::VecDeque;

use crate::engine::{Event, World};
use crate::scenario::{Load, Piece};

/// What is still to be sent.
#[derive(Debug)]
pub(super) enum Backlog {
    Closed,
    Batch {
        /// Not sent, or failed and back at the tail.
        waiting: u64,
        /// Not yet succeeded.
        open: u64,
    },
    Open(Arrivals),
}

/// An open load. Arrivals are dealt to the clients in turn.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Nanoseconds from, requests per nanosecond.
    pieces: Vec<(u64, f64)>,
    /// Per client: when each of those that wait came up.
    queues: Vec<VecDeque<u64>>,
    turn: usize,
    /// Not yet succeeded, and the sum of the times when they came up.
    unserved: u64,
    born_sum: u128,
}

impl Backlog {
    pub(super) fn new(load: &Load, clients: usize, world: &mut World) -> Self {
        match load {
            Load::Closed => Self::Closed,
            Load::Batch { requests } => Self::Batch {
                waiting: *requests,
                open: *requests,
            },
            Load::Open { rate, dumps } => {
                for (index, dump) in dumps.iter().enumerate() {
                    let at = dump.at.as_nanos() as u64;
                    world.agenda.push(at, Event::Dump(index as u32));
                }
                let arrivals = Arrivals::new(rate, clients);
                arrivals.plan(world);
                Self::Open(arrivals)
            }
        }
    }

    /// When the next request of `client` came up, if there is one; takes it.
    pub(super) fn take(&mut self, client: usize, now: u64) -> Option<u64> {
        match self {
            Self::Closed => Some(now),
            Self::Batch { waiting: 0, .. } => None,
            Self::Batch { waiting, .. } => {
                *waiting -= 1;
                Some(now)
            }
            Self::Open(arrivals) => arrivals.queues[client].pop_front(),
        }
    }

    pub(super) fn is_empty(&self, client: usize) -> bool {
        match self {
            Self::Closed => false,
            Self::Batch { waiting, .. } => *waiting == 0,
            Self::Open(arrivals) => arrivals.queues[client].is_empty(),
        }
    }

    /// A request succeeded. Whether that was the last of a batch.
    pub(super) fn succeed(&mut self, born: u64) -> bool {
        match self {
            Self::Closed => false,
            Self::Batch { open, .. } => {
                *open -= 1;
                *open == 0
            }
            Self::Open(arrivals) => {
                arrivals.unserved -= 1;
                arrivals.born_sum -= u128::from(born);
                false
            }
        }
    }

    /// A request failed and goes back to the tail.
    pub(super) fn fail(&mut self, client: usize, born: u64) {
        match self {
            Self::Closed => {}
            Self::Batch { waiting, .. } => *waiting += 1,
            Self::Open(arrivals) => arrivals.queues[client].push_back(born),
        }
    }

    /// Those not served at `now`, and the sum of their ages.
    pub(super) fn unserved(&self, now: u64) -> (u64, u128) {
        match self {
            Self::Closed | Self::Batch { .. } => (0, 0),
            Self::Open(Arrivals {
                unserved, born_sum, ..
            }) => (
                *unserved,
                u128::from(*unserved) * u128::from(now) - born_sum,
            ),
        }
    }
}

impl Arrivals {
    fn new(rate: &[Piece], clients: usize) -> Self {
        let piece = |piece: &Piece| (piece.from.as_nanos() as u64, piece.per_second / 1e9);
        Self {
            pieces: rate.iter().map(piece).collect(),
            queues: vec![VecDeque::new(); clients],
            turn: 0,
            unserved: 0,
            born_sum: 0,
        }
    }

    /// One arrives, for the next client that is there. Answers with that client.
    pub(super) fn arrive(&mut self, now: u64, there: impl Fn(usize) -> bool) -> usize {
        let clients = self.queues.len();
        let client = (1..=clients)
            .map(|offset| (self.turn + offset) % clients)
            .find(|&client| there(client))
            .unwrap_or(0);
        self.turn = client;
        self.queues[client].push_back(now);
        self.unserved += 1;
        self.born_sum += u128::from(now);
        client
    }

    /// Plans the next Poisson arrival. Exponential times have no memory, so one that would fall
    /// into the next piece is drawn again from there.
    pub(super) fn plan(&self, world: &mut World) {
        let mut from = world.now;
        let mut next = self.pieces.partition_point(|&(at, _)| at <= from);
        loop {
            let end = self.pieces.get(next).map_or(u64::MAX, |&(at, _)| at);
            let rate = match next {
                0 => 0.0,
                next => self.pieces[next - 1].1,
            };
            if rate > 0.0 {
                let at = from as f64 + world.random.exponential() / rate;
                if at < end as f64 {
                    world.agenda.push(at.ceil() as u64, Event::Demand);
                    return;
                }
            }
            if end == u64::MAX {
                return;
            }
            from = end;
            next += 1;
        }
    }
}
