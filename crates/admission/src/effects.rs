//! What is to be done once the lock is released.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::vec::IntoIter;

/// Wakers to wake, a timer to arm, values to drop: all of it may run foreign code, and none of it
/// runs under the lock.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Effects {
    first: Option<Waker>,
    others: Vec<Waker>,
    /// When [`on_timer`](crate::admission::Admission::on_timer) is to be called.
    pub(crate) arm: Option<u64>,
    /// Only time can let the next one in, or end its wait.
    pub(crate) timed: bool,
    /// Nobody has entered for a while, though somebody waits.
    pub(crate) stalled: bool,
    dropped: Option<Waker>,
}

impl Effects {
    #[inline]
    pub(crate) fn waking(waker: Option<Waker>) -> Self {
        Self {
            first: waker,
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn wake(&mut self, waker: Option<Waker>) {
        if self.first.is_none() {
            self.first = waker;
        } else if let Some(waker) = waker {
            self.others.push(waker);
        }
    }

    /// What followed from it.
    pub(crate) fn append(&mut self, later: Self) {
        self.arm = later.arm;
        self.timed = later.timed;
        self.wake(later.first);
        self.others.extend(later.others);
    }

    pub(crate) fn drop_later(&mut self, waker: Option<Waker>) {
        self.dropped = waker;
    }

    /// Wakes in the order of granting. A waker that panics costs no other one its wake-up.
    #[inline]
    pub(crate) fn wake_all(self) {
        if self.others.is_empty() {
            self.first.into_iter().for_each(Waker::wake);
        } else {
            let mut others = Others(self.others.into_iter());
            self.first.into_iter().for_each(Waker::wake);
            others.0.by_ref().for_each(Waker::wake);
        }
    }
}

struct Others(IntoIter<Waker>);

impl Drop for Others {
    fn drop(&mut self) {
        for waker in self.0.by_ref() {
            // One panic is on its way already.
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
