//! How many may be inside.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::admission::{Admission, Spare};
use crate::advance::Blocked;
use crate::door::Door;
use crate::effects::Effects;
use crate::primitives::{AtomicWord, Primitives};
use crate::queue::Queue;
use crate::times::Now;
use crate::word::{MAX_LIMIT, ONE, Word};

impl<P: Primitives> Admission<P> {
    /// Moves the limit. Only a raise while others wait takes the lock.
    pub(crate) fn set_limit(&self, limit: usize, now: Now<'_>) -> Effects {
        let mut word = self.word.load(Relaxed);
        loop {
            let moved = Word(word).with_limit(limit).0;
            match self
                .word
                .compare_exchange_weak(word, moved, Relaxed, Relaxed)
            {
                Ok(_) if Word(word).is_slow() && moved > word => {
                    return self.leave_slow(Spare(false), now);
                }
                Ok(_) => return Effects::default(),
                Err(changed) => word = changed,
            }
        }
    }

    /// One more place inside: the spare one if the limit still has room for it, else a free one.
    pub(crate) fn take_place(
        &self,
        spare: &mut Spare,
        queue: &mut Queue<P>,
        now: Now<'_>,
    ) -> Result<(), Blocked> {
        let mut word = self.word.load(Relaxed);
        if !Word(word).counts() {
            return Ok(());
        }
        loop {
            if spare.0 && Word(word).in_flight() <= Word(word).limit() {
                spare.0 = false;
                return Ok(());
            }
            if !Word(word).has_room() {
                let freed = queue.leases.reap(&mut queue.times, now);
                if freed == 0 {
                    return Err(Blocked::Full);
                }
                self.uncount(freed);
                word = self.word.load(Relaxed);
                continue;
            }
            // Only the limit and those who leave can move it under us: nobody else enters while the
            // lock is held.
            match self
                .word
                .compare_exchange_weak(word, word + ONE, Acquire, Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(changed) => word = changed,
            }
        }
    }

    /// So many places are free again.
    pub(crate) fn uncount(&self, places: u64) {
        if self.word().counts() {
            self.word.fetch_sub(places * ONE, Release);
        }
    }
}

impl Door {
    /// The highest limit: what a larger one is taken for.
    pub const MAX_LIMIT: usize = MAX_LIMIT;

    /// How many may be inside; `usize::MAX` where there is no limit.
    #[inline]
    pub fn limit(&self) -> usize {
        self.0.admission.word().limit()
    }

    /// Moves the limit; 0 is taken as 1, and at most [`MAX_LIMIT`](Self::MAX_LIMIT). Does nothing
    /// where there is none.
    ///
    /// Below what is in flight it is honoured by not admitting; raised, it lets in as many as fit.
    pub fn set_limit(&self, limit: usize) {
        self.0
            .move_by_hand(|admission, now| admission.set_limit(limit, now));
    }

    /// How many are inside; 0 where there is no limit.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.0.admission.word().in_flight()
    }
}
