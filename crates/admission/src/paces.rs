//! How many may enter per second.

use std::sync::atomic::Ordering::Release;
use std::time::Instant;

use tidegate_core::Pace;

use crate::admission::Admission;
use crate::costs::Costs;
use crate::door::Door;
use crate::effects::Effects;
use crate::meters::Meters;
use crate::primitives::{AtomicWord, Lock, Primitives};
use crate::queue::Queue;
use crate::times::Now;
use crate::word::PACED;

impl<P: Primitives> Admission<P> {
    /// Another pace, or none. Whoever waits is timed anew.
    pub(crate) fn set_pace(&self, pace: Option<Pace>, now: Now<'_>) -> Effects {
        let time = now();
        self.change(now, |queue, _| {
            let strict = pace.is_some_and(|pace| pace.window().is_some());
            if strict || queue.meters.is_some() {
                self.meters(queue, time).set(0, pace, time);
                queue.pace = pace;
                return;
            }
            match (&pace, queue.pace) {
                (Some(pace), Some(_)) => self.bucket.change_pace(pace, time),
                (Some(pace), None) => {
                    self.bucket.start(pace, time);
                    self.word.fetch_or(PACED, Release);
                }
                (None, _) => {
                    self.word.fetch_and(!PACED, Release);
                }
            }
            queue.pace = pace;
        })
    }

    /// One more pace. Returns its number, if there are not too many.
    pub(crate) fn add_pace(&self, pace: Pace, now: Now<'_>) -> (Option<usize>, Effects) {
        let time = now();
        self.locked(now, |queue, _| self.meters(queue, time).add(pace, time))
    }

    /// Moves the pace of that number.
    pub(crate) fn set_pace_of(&self, number: usize, pace: Option<Pace>, now: Now<'_>) -> Effects {
        let time = now();
        self.change(now, |queue, _| {
            self.meters(queue, time).set(number, pace, time);
        })
    }

    pub(crate) fn meters<'a>(&self, queue: &'a mut Queue<P>, now: u64) -> &'a mut Meters<P> {
        let pace = queue.pace;
        let ring = &mut queue.ring;
        queue.meters.get_or_insert_with(|| {
            ring.bills = Some(Box::default());
            self.set_slow();
            self.word.fetch_and(!PACED, Release);
            let mut meters = Meters::new();
            meters.set(0, pace, now);
            Box::new(meters)
        })
    }

    /// When every bucket is full and every window empty if nobody takes any; `None` without a pace.
    pub(crate) fn full_at(&self) -> Option<u64> {
        let queue = self.queue.lock();
        if let Some(meters) = &queue.meters {
            return meters.full_at();
        }
        let burst = u64::from(queue.pace?.bucket());
        Some(self.bucket.due_behind(0, burst, 0))
    }

    /// When so many tokens are there, if nobody takes any.
    #[cfg(test)]
    pub(crate) fn due(&self, cost: u64) -> u64 {
        let queue = self.queue.lock();
        match &queue.meters {
            Some(meters) => meters.due(&Costs::same(cost as u32)),
            None => self.bucket.due_behind(0, cost, 0),
        }
    }
}

impl Door {
    /// How many may enter per second.
    pub fn pace(&self) -> Option<Pace> {
        self.0.admission.with_queue(|queue| queue.pace)
    }

    /// Another pace, or none. Whoever waits is timed anew; tokens and debts of the old pace are kept.
    pub fn set_pace(&self, pace: Option<Pace>) {
        self.0
            .move_by_hand(|admission, now| admission.set_pace(pace, now));
    }

    /// One more pace, beside the one that [`set_pace`](Self::set_pace) sets, which has the number 0.
    /// Returns its number.
    ///
    /// A request enters when all of them let it, and is charged by all or by none. From now on every
    /// request takes the door's lock, whether it has to wait or not; a pace that was set before begins
    /// anew.
    ///
    /// # Panics
    ///
    /// If there are [`Costs::MOST`] already.
    #[track_caller]
    pub fn add_pace(&self, pace: Pace) -> usize {
        let (number, effects) = self.0.admission.add_pace(pace, &|| self.0.now());
        self.0.apply(effects);
        let Some(number) = number else {
            panic!("a door has at most {} paces", Costs::MOST)
        };
        number
    }

    /// Moves the pace of that number. One that there is not stays as it is.
    pub fn set_pace_of(&self, number: usize, pace: Option<Pace>) {
        if number == 0 {
            return self.set_pace(pace);
        }
        self.0
            .change(|admission, now| admission.set_pace_of(number, pace, now));
    }

    /// All paces, in the order of their numbers.
    pub fn paces(&self) -> Vec<Option<Pace>> {
        self.0.admission.with_queue(|queue| match &queue.meters {
            Some(meters) => meters.paces().map(|(_, pace)| pace).collect(),
            None => vec![queue.pace],
        })
    }

    /// When its bucket is full again, if it is not.
    pub(crate) fn full_at(&self) -> Option<Instant> {
        let now = self.0.now();
        let full_at = self.0.admission.full_at().filter(|&at| at > now);
        full_at.map(|at| self.0.instant(at))
    }
}
