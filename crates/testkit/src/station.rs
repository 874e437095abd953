use std::collections::BTreeMap;

/// Workers and the queue before them, first come, first served.
///
/// Numbers only: it neither waits nor wakes. `W` is what stands in the queue for a request.
#[derive(Debug)]
pub(crate) struct Station<W> {
    /// At full capacity; `usize::MAX` for as many as come.
    workers: usize,
    /// How many may wait; `usize::MAX` for all.
    queue: usize,
    /// What `workers` is multiplied with; 0 is an outage.
    capacity: f64,
    /// May be above [`usable`](Self::usable) after a fall of the capacity: what runs, ends.
    busy: usize,
    /// By order of arrival. Empty whenever a worker is free.
    waiting: BTreeMap<u64, W>,
    peak: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    Worker,
    Queue,
    Refused,
}

/// What became of those who waited when the capacity changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved<W> {
    ToWorkers(Vec<W>),
    Refused(Vec<W>),
}

impl<W> Station<W> {
    pub(crate) fn new(workers: usize, queue: usize) -> Self {
        Self {
            workers,
            queue,
            capacity: 1.0,
            busy: 0,
            waiting: BTreeMap::new(),
            peak: 0,
        }
    }

    fn usable(&self) -> usize {
        if self.capacity > 0.0 {
            let workers = (self.workers as f64 * self.capacity).round() as usize;
            workers.max(1)
        } else {
            0
        }
    }

    /// `index` grows with every arrival.
    pub(crate) fn arrive(&mut self, index: u64, waiter: impl FnOnce() -> W) -> Admission {
        let usable = self.usable();
        let admission = if self.busy < usable {
            self.busy += 1;
            Admission::Worker
        } else if usable > 0 && self.waiting.len() < self.queue {
            self.waiting.insert(index, waiter());
            Admission::Queue
        } else {
            Admission::Refused
        };
        self.peak = self.peak.max(self.in_flight());
        admission
    }

    /// What waited under `index`, unless its turn has come or it was refused.
    pub(crate) fn leave_queue(&mut self, index: u64) -> Option<W> {
        self.waiting.remove(&index)
    }

    /// A worker is done. Whoever comes next, if that worker goes on.
    pub(crate) fn release(&mut self) -> Option<W> {
        self.busy -= 1;
        self.next()
    }

    fn next(&mut self) -> Option<W> {
        if self.busy >= self.usable() {
            return None;
        }
        let (_, waiter) = self.waiting.pop_first()?;
        self.busy += 1;
        Some(waiter)
    }

    pub(crate) fn set_capacity(&mut self, capacity: f64) -> Moved<W> {
        self.capacity = capacity;
        if self.usable() == 0 {
            let waiting = std::mem::take(&mut self.waiting);
            Moved::Refused(waiting.into_values().collect())
        } else {
            Moved::ToWorkers(std::iter::from_fn(|| self.next()).collect())
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.busy + self.waiting.len()
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(station: &mut Station<u64>, indices: std::ops::Range<u64>) -> Vec<Admission> {
        indices
            .map(|index| station.arrive(index, || index))
            .collect()
    }

    #[test]
    fn workers_are_taken_first_then_the_queue_then_all_are_refused() {
        let mut station = Station::new(2, 1);
        assert_eq!(
            arrive(&mut station, 0..4),
            [
                Admission::Worker,
                Admission::Worker,
                Admission::Queue,
                Admission::Refused
            ]
        );
        assert_eq!((station.in_flight(), station.peak()), (3, 3));
    }

    #[test]
    fn a_queue_of_none_is_pure_loss() {
        let mut station = Station::new(1, 0);
        assert_eq!(
            arrive(&mut station, 0..2),
            [Admission::Worker, Admission::Refused]
        );
        assert_eq!(station.release(), None);
        assert_eq!(arrive(&mut station, 2..3), [Admission::Worker]);
    }

    #[test]
    fn the_queue_is_first_come_first_served_past_those_who_left() {
        let mut station = Station::new(1, usize::MAX);
        arrive(&mut station, 0..4);
        assert_eq!(station.leave_queue(1), Some(1));
        assert_eq!(station.release(), Some(2));
        assert_eq!(station.leave_queue(2), None);
        assert_eq!(station.release(), Some(3));
        assert_eq!(station.release(), None);
        assert_eq!((station.in_flight(), station.peak()), (0, 4));
    }

    #[test]
    fn what_runs_when_the_capacity_falls_runs_to_its_end() {
        let mut station = Station::new(4, usize::MAX);
        arrive(&mut station, 0..6);
        assert_eq!(station.set_capacity(0.5), Moved::ToWorkers(vec![]));
        assert_eq!(station.release(), None);
        assert_eq!(station.release(), None);
        assert_eq!(station.release(), Some(4));
        assert_eq!(station.set_capacity(1.0), Moved::ToWorkers(vec![5]));
    }

    #[test]
    fn a_little_capacity_is_one_worker_and_none_is_an_outage() {
        let mut station = Station::new(4, usize::MAX);
        station.set_capacity(0.01);
        assert_eq!(
            arrive(&mut station, 0..2),
            [Admission::Worker, Admission::Queue]
        );
        assert_eq!(station.set_capacity(0.0), Moved::Refused(vec![1]));
        assert_eq!(arrive(&mut station, 2..3), [Admission::Refused]);
        assert_eq!(station.release(), None);
        station.set_capacity(f64::NAN);
        assert_eq!(arrive(&mut station, 3..4), [Admission::Refused]);
        station.set_capacity(2.0);
        assert_eq!(
            arrive(&mut station, 4..13)[7..],
            [Admission::Worker, Admission::Queue]
        );
    }

    #[test]
    fn as_many_workers_as_come_stay_so_at_any_capacity() {
        let mut station = Station::new(usize::MAX, usize::MAX);
        for capacity in [0.001, 1.0, 1e30, f64::INFINITY] {
            station.set_capacity(capacity);
            assert_eq!(arrive(&mut station, 0..1), [Admission::Worker]);
        }
    }
}
