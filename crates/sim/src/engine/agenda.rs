use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What happens, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A request reaches the server.
    Arrive(u32),
    /// A worker is done with a request.
    Done(u32),
    /// The first request of those that share a server is done, if nothing changed since.
    Progress { turn: u32 },
    /// An answer reaches the client.
    Answer(u32),
    /// A client waited for a request as long as it may.
    Timeout { job: u32, generation: u32 },
    /// A client may be allowed to send again.
    Wake { client: u32, turn: u32 },
    /// A client joins.
    Join(u32),
    /// A step of the scenario.
    Step(u32),
    /// The next request of an open load.
    Demand,
    /// Many requests of an open load at once.
    Dump(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: u64,
    sequence: u64,
    event: Event,
}

/// Reversed: the heap's greatest is the next.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What is going to happen, by time and, at one time, in the order in which it was planned.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl Agenda {
    /// Plans `event` at `at`, in nanoseconds since the start.
    pub(crate) fn push(&mut self, at: u64, event: Event) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.heap.push(Entry {
            at,
            sequence,
            event,
        });
    }

    /// The next event and its time, unless that is `end` or later.
    pub(crate) fn pop_before(&mut self, end: u64) -> Option<(u64, Event)> {
        if self.heap.peek()?.at >= end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_first_happens_first_at_one_time() {
        let mut agenda = Agenda::default();
        agenda.push(20, Event::Demand);
        agenda.push(10, Event::Arrive(1));
        agenda.push(10, Event::Arrive(2));
        agenda.push(30, Event::Demand);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop_before(30)).collect();
        let expected = [
            (10, Event::Arrive(1)),
            (10, Event::Arrive(2)),
            (20, Event::Demand),
        ];
        assert_eq!(order, expected);
    }
}
