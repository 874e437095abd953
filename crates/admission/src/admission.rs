//! Who may enter, and who waits.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::Waker;

use crate::bucket::Bucket;
use crate::costs::Costs;
use crate::effects::Effects;
use crate::meters::Stamp;
use crate::primitives::{AtomicWord, Lock, Primitives};
use crate::queue::Queue;
use crate::refusal::Refusal;
use crate::times::{NEVER, Now};
use crate::waiter::Ticket;
use crate::word::{ONE, SLOW, Word};

/// The limit, the pace and the pause as conditions on one admission.
///
/// A request that need not wait enters by one compare-and-swap on `word`, and takes its tokens by
/// another when there is a pace. Everything else happens under the lock of `queue`, while the word
/// says [`SLOW`]: then nobody enters but through the lock, and whoever leaves takes it too, to let
/// the next one in.
///
/// Times are nanoseconds on the door's clock, given as a closure that is called only where the time
/// matters. No method wakes anyone: what is to be done outside of the lock comes back as
/// [`Effects`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Admission<P: Primitives> {
    pub(crate) word: P::Word,
    pub(crate) bucket: Bucket<P>,
    pub(crate) queue: P::Lock<Queue<P>>,
}

/// Who asks to enter, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) cost: u32,
    /// In each pace, where there are several.
    pub(crate) costs: Option<Costs>,
    /// Whom to wake; `None` for one that does not wait.
    pub(crate) waker: Option<&'a Waker>,
    /// Whether a thread parks rather than a task.
    pub(crate) thread: bool,
    /// It would not wait longer than until then; `u64::MAX` if it would.
    pub(crate) until: u64,
}

/// What became of one that asked to enter.
#[derive(Debug)]
pub(crate) enum Entered<P: Primitives> {
    Yes(Entry),
    Waits(Ticket<P>),
    No(Refusal),
}

/// What one that entered has taken: a place, and so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) tokens: u32,
    /// Of where there are several paces.
    pub(crate) stamp: Stamp,
}

impl Entry {
    #[inline]
    pub(crate) fn free() -> Self {
        Self::charged(0)
    }

    #[inline]
    pub(crate) fn charged(tokens: u32) -> Self {
        Self {
            tokens,
            stamp: Stamp::default(),
        }
    }
}

/// The queue, under its lock.
pub(crate) type Locked<'a, P> = <<P as Primitives>::Lock<Queue<P>> as Lock<Queue<P>>>::Guard<'a>;

/// Whether a place comes with the call, of one that leaves and is still counted inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spare(pub(crate) bool);

impl<P: Primitives> Admission<P> {
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self::of(Word::new(limit), seed)
    }

    /// Without a limit: a pace and a pause alone.
    pub(crate) fn uncounted(seed: u64) -> Self {
        Self::of(Word::uncounted(), seed)
    }

    fn of(word: Word, seed: u64) -> Self {
        Self {
            word: P::Word::new(word.0),
            bucket: Bucket::new(),
            queue: P::Lock::new(Queue::seeded(seed)),
        }
    }

    /// The fast path. Where it fails, [`enter`](Self::enter) must follow: that is what lets in those
    /// who saw a place taken that was then given up for want of tokens.
    #[inline]
    pub(crate) fn try_enter(&self, cost: u32, now: impl Fn() -> u64) -> Option<Entry> {
        let mut word = self.word.load(Relaxed);
        loop {
            if Word(word).is_slow() || !Word(word).has_room() {
                if Word(word).counts() {
                    return None;
                }
                return self.try_enter_uncounted(cost, now);
            }
            match self
                .word
                .compare_exchange_weak(word, word + ONE, Acquire, Relaxed)
            {
                Ok(_) => break,
                Err(changed) => word = changed,
            }
        }
        if !Word(word).is_paced() {
            return Some(Entry::free());
        }
        let now = now();
        if self.bucket.take(cost, now, now).is_ok() {
            return Some(Entry::charged(cost));
        }
        self.word.fetch_sub(ONE, Release);
        None
    }

    /// Where there is no limit there is nothing to change but the bucket.
    ///
    /// What a pause or a waiter changes meanwhile is not seen: it has entered before.
    #[inline]
    fn try_enter_uncounted(&self, cost: u32, now: impl Fn() -> u64) -> Option<Entry> {
        let word = Word(self.word.load(Acquire));
        if word.is_slow() {
            return None;
        }
        if !word.is_paced() {
            return Some(Entry::free());
        }
        let now = now();
        let taken = self.bucket.take(cost, now, now);
        taken.is_ok().then_some(Entry::charged(cost))
    }

    /// Leaves. Returns whether [`leave_slow`](Self::leave_slow) must follow, and with which place.
    #[inline]
    #[must_use]
    pub(crate) fn leave(&self) -> Option<Spare> {
        let word = Word(self.word.load(Relaxed));
        if !word.counts() {
            return None;
        }
        if word.is_slow() {
            return Some(Spare(true));
        }
        Word(self.word.fetch_sub(ONE, Release))
            .is_slow()
            .then_some(Spare(false))
    }

    #[inline]
    pub(crate) fn word(&self) -> Word {
        Word(self.word.load(Relaxed))
    }

    /// Runs `change` on the queue, and looks at the settings or counts in it.
    pub(crate) fn with_queue<T>(&self, change: impl FnOnce(&mut Queue<P>) -> T) -> T {
        change(&mut self.queue.lock())
    }

    /// The same, and lets in whom that lets in.
    pub(crate) fn locked<T>(
        &self,
        now: Now<'_>,
        change: impl FnOnce(&mut Queue<P>, &mut Effects) -> T,
    ) -> (T, Effects) {
        let mut effects = Effects::default();
        let mut queue = self.queue.lock();
        let value = change(&mut queue, &mut effects);
        self.advance(&mut queue, now, &mut effects);
        self.settle(&mut queue, now, &mut effects);
        (value, effects)
    }

    /// The same, where nothing else comes of it.
    pub(crate) fn change(
        &self,
        now: Now<'_>,
        change: impl FnOnce(&mut Queue<P>, &mut Effects),
    ) -> Effects {
        self.locked(now, change).1
    }

    /// Opens the fast path if nothing stands in its way, arms the timer if it is to fire earlier,
    /// and tells those who wait for the end.
    pub(crate) fn settle(&self, queue: &mut Queue<P>, now: Now<'_>, effects: &mut Effects) {
        if !queue.drainers.is_empty() && self.is_empty(queue) {
            queue
                .drainers
                .drain(..)
                .for_each(|waker| effects.wake(Some(waker)));
        }
        if queue.ring.waiting() == 0 {
            queue.times.dry = NEVER;
        }
        self.clear_slow_if_idle(queue);
        effects.timed = queue.needs_time();
        effects.arm = queue.arm(now);
        queue.calm = queue.is_calm();
    }

    pub(crate) fn is_empty(&self, queue: &Queue<P>) -> bool {
        Word(self.word.load(Acquire)).in_flight() == 0 && queue.ring.waiting() == 0
    }

    pub(crate) fn set_slow(&self) {
        if !self.word().is_slow() {
            self.word.fetch_or(SLOW, Relaxed);
        }
    }

    pub(crate) fn clear_slow_if_idle(&self, queue: &Queue<P>) {
        if queue.is_idle() && self.word().is_slow() {
            self.word.fetch_and(!SLOW, Relaxed);
        }
    }
}
