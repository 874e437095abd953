//! Who may enter and has not come for it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::admission::Entry;
use crate::primitives::Primitives;
use crate::waiter::{State, Ticket, Waiter};

/// So many ticks without coming, and the next one is served.
const PATIENCE: u8 = 3;
/// So many that have come may stay.
const KEPT: usize = 64;

/// Those that were granted, the longest ago first, until they have come for it.
#[derive(Debug)]
pub(crate) struct Granted<P: Primitives>(VecDeque<(Ticket<P>, u8)>);

impl<P: Primitives> Default for Granted<P> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<P: Primitives> Granted<P> {
    #[inline]
    pub(crate) fn push(&mut self, waiter: Ticket<P>) {
        if self.0.len() >= KEPT {
            self.forget_those_that_came();
        }
        self.0.push_back((waiter, 0));
    }

    /// The memory of one that has come, to be used again, unless somebody still knows it.
    #[inline]
    pub(crate) fn pop_spare(&mut self) -> Option<Ticket<P>> {
        while self.has_come() {
            let (waiter, _) = self.0.pop_front()?;
            if Arc::strong_count(&waiter) == 1 {
                return Some(waiter);
            }
        }
        None
    }

    /// Whether the first of them has.
    #[inline]
    fn has_come(&self) -> bool {
        let first = self.0.front();
        first.is_some_and(|(waiter, _)| waiter.state() != State::Granted)
    }

    #[cold]
    fn forget_those_that_came(&mut self) {
        while self.has_come() {
            self.0.pop_front();
        }
        if self.0.len() == self.0.capacity() {
            // And behind one that does not come, before there are too many.
            self.0
                .retain(|(waiter, _)| waiter.state() == State::Granted);
            self.0.reserve(self.0.len() + 1);
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a tick for everyone, and passes over those that have not come for too many. Returns
    /// how many places they held, and tells what each was charged.
    pub(crate) fn tick(&mut self, mut charged: impl FnMut(&Waiter<P>, Entry)) -> u64 {
        let mut places = 0;
        self.0.retain_mut(|(waiter, ticks)| {
            *ticks += 1;
            if *ticks >= PATIENCE
                && let Some(entry) = waiter.take(State::PassedOver)
            {
                places += 1;
                charged(waiter, entry);
            }
            waiter.state() == State::Granted
        });
        self.0.shrink_to(2 * self.0.len());
        places
    }
}
