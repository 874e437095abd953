//! What is to be done once the lock is released.

use std::task::Waker;

/// Wakers to wake, a timer to arm, values to drop: all of it may run foreign code, and none of it
/// runs under the lock.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Effects {
    first: Option<Waker>,
    others: Vec<Waker>,
    /// When [`on_timer`](crate::admission::Admission::on_timer) is to be called.
    pub(crate) arm: Option<u64>,
    /// Nobody has entered for a while, though somebody waits.
    pub(crate) stalled: bool,
    dropped: Option<Waker>,
}

impl Effects {
    pub(crate) fn wake(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.others.push(waker);
        }
    }

    /// What followed from it.
    pub(crate) fn append(&mut self, later: Self) {
        self.arm = later.arm;
        later
            .first
            .into_iter()
            .chain(later.others)
            .for_each(|waker| self.wake(waker));
    }

    /// Nobody here can keep the time: the head is woken to do it where it is polled.
    pub(crate) fn wake_for_timer(&mut self, head: Option<Waker>) {
        head.into_iter().for_each(|waker| self.wake(waker));
    }

    pub(crate) fn drop_later(&mut self, waker: Option<Waker>) {
        self.dropped = waker;
    }

    /// Wakes in the order of granting.
    pub(crate) fn wake_all(self) {
        self.first
            .into_iter()
            .chain(self.others)
            .for_each(Waker::wake);
    }
}
