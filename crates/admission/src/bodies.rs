//! Whether the places are held by bodies that nobody reads.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::Level;

use crate::inner::Inner;

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

/// No two lines about it are closer than this, of all doors of the process together: there may be
/// one for each of many keys.
const APART: Duration = Duration::from_secs(1);

impl Inner {
    /// Those who wait may be the ones who should read.
    pub(crate) fn warn_of_unread_bodies(&self) {
        let in_flight = self.admission.word().in_flight();
        let unread = in_flight > 0 && self.bodies.all_unread(in_flight);
        if unread && tracing::enabled!(Level::WARN) && is_next_line(self.instant(self.now())) {
            tracing::warn!(
                by = self.by,
                in_flight,
                waiting = self.admission.with_queue(|queue| queue.ring.waiting()),
                "every place is held by a response body that nobody reads while others wait: \
                 read the body in the task that sends the request"
            );
        }
    }
}

/// Whether the line before is long enough ago.
fn is_next_line(now: Instant) -> bool {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let near = |last: Instant| now.max(last) - now.min(last) < APART;
    let next = !last.is_some_and(near);
    if next {
        *last = Some(now);
    }
    next
}
