use std::time::Duration;

use tidegate_core::Outcome;

use crate::record::Record;
use crate::series::{Point, Series};

/// The shortest piece of a series.
const TICK: u64 = 20_000_000;

/// The most pieces of a series.
const PIECES: u64 = 20_000;

/// Counts what happens.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Sum of the usable limits now.
    pub(crate) limit: usize,
    /// Requests in flight now.
    pub(crate) in_flight: usize,
    point: Point,
    shares: Vec<u32>,
    tick: u64,
    next: u64,
    latency_sum: u128,
    record: Record,
}

impl Recorder {
    pub(crate) fn new(horizon: u64, clients: usize) -> Self {
        let tick = TICK.max(horizon / PIECES);
        Self {
            limit: 0,
            in_flight: 0,
            point: Point::default(),
            shares: vec![0; clients],
            tick,
            next: tick,
            latency_sum: 0,
            record: Record {
                elapsed: Duration::ZERO,
                events: 0,
                cut: false,
                successes: 0,
                overloads: 0,
                failures: 0,
                ignored: 0,
                latency_sum: 0.0,
                latency_count: 0,
                series: Series::new(Duration::from_nanos(tick), clients),
            },
        }
    }

    /// Time goes on to `now`; counts the event that happens then.
    pub(crate) fn advance(&mut self, now: u64) {
        self.record.events += 1;
        while now >= self.next {
            self.close();
        }
    }

    fn close(&mut self) {
        self.point.limit = self.limit;
        self.point.in_flight = self.in_flight;
        let point = std::mem::take(&mut self.point);
        self.record.series.push(point, &self.shares);
        self.next += self.tick;
    }

    /// A request of `client` ended: it took `latency` from sending, and `age` since it came up.
    pub(crate) fn count(&mut self, client: u32, outcome: Outcome, latency: u64, age: u64) {
        match outcome {
            Outcome::Success => {
                self.record.successes += 1;
                self.record.latency_count += 1;
                self.latency_sum += u128::from(age);
                self.point.successes += 1;
                self.point.latency_sum += latency as f64 / 1e9;
                self.shares[client as usize] += 1;
            }
            Outcome::Overload(_) => {
                self.record.overloads += 1;
                self.point.overloads += 1;
            }
            Outcome::Failure => self.record.failures += 1,
            Outcome::Ignored => self.record.ignored += 1,
        }
    }

    /// Whether so much of it was refusals that nothing more will be learnt.
    pub(crate) fn spins(&self, most: u64) -> bool {
        self.record.events > most && self.record.mostly_failed()
    }

    /// The end, at `now`. `unserved` are those that still wait, and the sum of their ages.
    pub(crate) fn finish(mut self, now: u64, cut: bool, unserved: (u64, u128)) -> Record {
        while now >= self.next {
            self.close();
        }
        let mut record = self.record;
        record.elapsed = Duration::from_nanos(now);
        record.cut = cut;
        record.latency_count += unserved.0;
        record.latency_sum = (self.latency_sum + unserved.1) as f64 / 1e9;
        record
    }
}
