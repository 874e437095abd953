//! Places that are freed at a time even if their holders do not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use crate::admission::Admission;
use crate::door::Door;
use crate::effects::Effects;
use crate::primitives::{AtomicWord, Primitives};
use crate::times::{Now, Times};

/// One of them.
#[derive(Debug)]
pub(crate) struct Lease<P: Primitives>(P::Word);

const ENDED: u64 = 1;

impl<P: Primitives> Lease<P> {
    /// Whether the caller is the first to end it, and so the one who frees its place.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_or(ENDED, AcqRel) != ENDED
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Relaxed) == ENDED
    }
}

/// All of them, in the order in which they run out.
#[derive(Debug)]
pub(crate) struct Leases<P: Primitives> {
    all: VecDeque<(u64, Arc<Lease<P>>)>,
    /// When there are so many of them, those that have ended are taken out.
    many: usize,
    /// How many have run out.
    pub(crate) overdue: u64,
}

/// Below so many those that have ended may stay.
const FEW: usize = 32;

impl<P: Primitives> Default for Leases<P> {
    fn default() -> Self {
        Self {
            all: VecDeque::new(),
            many: FEW,
            overdue: 0,
        }
    }
}

impl<P: Primitives> Leases<P> {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// When the first of them runs out.
    pub(crate) fn first(&self) -> Option<u64> {
        self.all.front().map(|&(at, _)| at)
    }

    /// One more, until `at`.
    fn add(&mut self, at: u64) -> Arc<Lease<P>> {
        if self.all.len() >= self.many {
            self.all.retain(|(_, lease)| !lease.has_ended());
            self.many = (self.all.len() * 2).max(FEW);
            self.all.shrink_to(self.many);
        }
        let lease = Arc::new(Lease(P::Word::new(0)));
        let place = self.all.partition_point(|(other, _)| *other <= at);
        self.all.insert(place, (at, Arc::clone(&lease)));
        lease
    }

    /// Ends those that have run out, and returns how many places that frees.
    pub(crate) fn reap(&mut self, times: &mut Times, now: Now<'_>) -> u64 {
        let mut freed = 0;
        while let Some(&(at, ref lease)) = self.all.front() {
            if !lease.has_ended() {
                if at > times.now(now) {
                    break;
                }
                freed += u64::from(lease.end());
            }
            self.all.pop_front();
        }
        self.overdue += freed;
        freed
    }
}

impl<P: Primitives> Admission<P> {
    /// Ends one permit at `at`, even if its holder does not.
    pub(crate) fn lease(&self, at: u64, now: Now<'_>) -> (Arc<Lease<P>>, Effects) {
        self.locked(now, |queue, _| queue.leases.add(at))
    }
}

impl Door {
    /// How many permits were freed by [`Place::expire_after`](crate::Place::expire_after) before their holders let go of them.
    pub fn overdue(&self) -> u64 {
        self.0.admission.with_queue(|queue| queue.leases.overdue)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::admission::{Entered, Request};
    use crate::primitives::Std;
    use crate::times::NEVER;

    #[test]
    fn one_that_leaves_lets_in_another_for_a_lease_that_has_run_out_though_no_timer_fired() {
        let admission = Admission::<Std>::new(2, 1);
        let at = |time: u64| move || time;
        let inside = [(); 2].map(|()| admission.try_enter(1, at(0)).is_some());
        let request = Request {
            cost: 1,
            costs: None,
            waker: Some(Waker::noop()),
            thread: false,
            until: NEVER,
        };
        let waits = [(); 4].map(|()| admission.enter(request, &at(0)).0);
        let waits = waits.map(|one| matches!(one, Entered::Waits(_)));
        assert_eq!((inside, waits), ([true; 2], [true; 4]));
        let _lease = admission.lease(10, &at(0));
        let leave = |time| {
            let spare = admission.leave().expect("others wait");
            admission.leave_slow(spare, &at(time)).wake_all();
            admission.with_queue(|queue| (queue.ring.waiting(), queue.leases.overdue))
        };
        assert_eq!(leave(9), (3, 0));
        assert_eq!(leave(10), (1, 1));
    }
}
