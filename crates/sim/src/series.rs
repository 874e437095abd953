use std::time::Duration;

/// A run over time, in pieces of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Length of a piece.
    pub tick: Duration,
    /// Pieces from the start on.
    pub points: Vec<Point>,
    /// Successes of each client up to the end of each piece; all clients of the first, and so on.
    shares: Vec<u32>,
    clients: usize,
}

/// One piece of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Sum of the usable limits at its end.
    pub limit: usize,
    /// Requests in flight at its end.
    pub in_flight: usize,
    /// Successes in it.
    pub successes: u32,
    /// Overloads in it.
    pub overloads: u32,
    /// Sum of the latencies of its successes, from sending on, in seconds.
    pub latency_sum: f64,
}

impl Series {
    pub(crate) fn new(tick: Duration, clients: usize) -> Self {
        Self {
            tick,
            points: Vec::new(),
            shares: Vec::new(),
            clients,
        }
    }

    pub(crate) fn push(&mut self, point: Point, shares: &[u32]) {
        self.points.push(point);
        self.shares.extend_from_slice(shares);
    }

    /// Successes of each client from the piece `from` on.
    pub fn shares_since(&self, from: usize) -> Vec<u32> {
        let at = |piece: usize, client: usize| match piece {
            0 => 0,
            piece => self.shares[(piece - 1) * self.clients + client],
        };
        let last = self.points.len();
        (0..self.clients)
            .map(|client| at(last, client) - at(from.min(last), client))
            .collect()
    }
}
