//! One that waits.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::admission::Entry;
use crate::primitives::{AtomicWord, Primitives};

/// What a waiter holds of its place in the queue.
pub(crate) type Ticket<P> = Arc<Waiter<P>>;

/// One that waits: shared by the queue and the future (or thread) that waits.
///
/// Its state changes under the queue's lock, but for one step: it takes what it was granted by
/// itself, without the lock.
#[derive(Debug)]
pub(crate) struct Waiter<P: Primitives> {
    /// ```text
    ///  63 … 32    6        5        4      3 … 0
    ///   cost    billed   thread   tokens   state
    /// ```
    word: P::Word,
    /// Atomic only because a waiter is used again; they change while nobody else knows it.
    number: P::Word,
    deadline: P::Word,
    /// Since when it waits, and one more, where somebody is to hear of it; else 0.
    since: P::Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    /// It may enter and holds a place inside, perhaps tokens too, and has not come for them.
    Granted,
    /// It came and took them.
    Taken,
    /// It did not come when it might have entered. It is the first again when it does.
    PassedOver,
    /// It gave up.
    Gone,
    /// It waited as long as it may.
    Expired,
    /// A service asked for a longer pause than it waits.
    Paused,
    /// The door was closed.
    Closed,
}

const STATE: u64 = 0b1111;
const TOKENS: u64 = 1 << 4;
const THREAD: u64 = 1 << 5;
/// It was granted by several paces, and comes under the lock.
const BILLED: u64 = 1 << 6;
const COST_SHIFT: u32 = 32;

impl<P: Primitives> Waiter<P> {
    pub(crate) fn new(number: u64, cost: u32, deadline: u64, thread: bool) -> Self {
        Self {
            word: P::Word::new(Self::waiting(cost, thread)),
            number: P::Word::new(number),
            deadline: P::Word::new(deadline),
            since: P::Word::new(0),
        }
    }

    /// Another waiter in the same memory. Under the queue's lock, and only the queue knows this one.
    pub(crate) fn reuse(&self, number: u64, cost: u32, deadline: u64, thread: bool) {
        self.number.store(number, Relaxed);
        self.deadline.store(deadline, Relaxed);
        self.since.store(0, Relaxed);
        self.word.store(Self::waiting(cost, thread), Release);
    }

    fn waiting(cost: u32, thread: bool) -> u64 {
        let thread = if thread { THREAD } else { 0 };
        u64::from(cost) << COST_SHIFT | thread | State::Waiting as u64
    }

    /// Its place in the order of arrival.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Relaxed)
    }

    /// When it is refused, in nanoseconds on the door's clock.
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline.load(Relaxed)
    }

    /// Somebody is to hear how long it waits. For the waiter itself.
    pub(crate) fn waits_since(&self, since: u64) {
        self.since.store(since.saturating_add(1), Relaxed);
    }

    /// Since when it waits, if somebody is to hear of that.
    pub(crate) fn since(&self) -> Option<u64> {
        self.since.load(Relaxed).checked_sub(1)
    }

    pub(crate) fn state(&self) -> State {
        match self.word.load(Acquire) & STATE {
            0 => State::Waiting,
            1 => State::Granted,
            2 => State::Taken,
            3 => State::PassedOver,
            4 => State::Gone,
            5 => State::Expired,
            6 => State::Paused,
            _ => State::Closed,
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.state() == State::Waiting
    }

    pub(crate) fn cost(&self) -> u32 {
        (self.word.load(Relaxed) >> COST_SHIFT) as u32
    }

    /// Whether a thread is parked here rather than a task.
    pub(crate) fn is_thread(&self) -> bool {
        self.word.load(Relaxed) & THREAD != 0
    }

    /// Under the queue's lock, and not for one that was granted.
    pub(crate) fn set(&self, state: State) {
        let word = self.word.load(Relaxed) & !(STATE | TOKENS | BILLED);
        self.word.store(word | state as u64, Release);
    }

    /// Lets it enter. Under the queue's lock.
    pub(crate) fn grant(&self, tokens: bool, billed: bool) {
        let tokens = if tokens { TOKENS } else { 0 };
        let billed = if billed { BILLED } else { 0 };
        let word = self.word.load(Relaxed) & !STATE;
        self.word
            .store(word | tokens | billed | State::Granted as u64, Release);
    }

    /// The same as [`take`](Self::take) with [`State::Taken`], without the lock: not where it was
    /// granted by several paces.
    #[inline]
    pub(crate) fn take_alone(&self) -> Option<Entry> {
        let billed = self.word.load(Relaxed) & BILLED != 0;
        if billed {
            None
        } else {
            self.take(State::Taken)
        }
    }

    /// Takes what was granted, if it was granted and nobody took it: for the waiter itself with
    /// [`State::Taken`], under the queue's lock to take it back.
    #[inline]
    pub(crate) fn take(&self, then: State) -> Option<Entry> {
        let mut word = self.word.load(Relaxed);
        while word & STATE == State::Granted as u64 {
            let next = word & !(STATE | TOKENS | BILLED) | then as u64;
            match self.word.compare_exchange_weak(word, next, AcqRel, Relaxed) {
                Ok(_) if word & TOKENS == 0 => return Some(Entry::free()),
                Ok(_) => {
                    let tokens = (word >> COST_SHIFT) as u32;
                    return Some(Entry::charged(tokens));
                }
                Err(changed) => word = changed,
            }
        }
        None
    }
}
