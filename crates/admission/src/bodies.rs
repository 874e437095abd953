//! Whether the places are held by bodies that nobody reads.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// How many permits are held by a body, and whether any of those was polled lately.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    open: AtomicUsize,
    polled: AtomicBool,
}

impl Bodies {
    pub(crate) fn open(&self) {
        self.open.fetch_add(1, Relaxed);
        self.polled();
    }

    pub(crate) fn close(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    #[inline]
    pub(crate) fn polled(&self) {
        if !self.polled.load(Relaxed) {
            self.polled.store(true, Relaxed);
        }
    }

    /// Whether all of `in_flight` are held by bodies that nobody has polled since this was asked
    /// last.
    pub(crate) fn all_unread(&self, in_flight: usize) -> bool {
        let polled = self.polled.swap(false, Relaxed);
        !polled && self.open.load(Relaxed) >= in_flight
    }
}
