//! The end: nobody enters any more, and the last one leaves.

use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::admission::Admission;
use crate::door::Door;
use crate::effects::Effects;
use crate::primitives::{Lock, Primitives};
use crate::times::Now;
use crate::waiter::State;

impl<P: Primitives> Admission<P> {
    /// Refuses everybody from now on, and all that wait.
    pub(crate) fn close(&self, now: Now<'_>) -> Effects {
        self.change(now, |queue, effects| {
            queue.closed = true;
            self.set_slow();
            let refuse = |waker| effects.wake(Some(waker));
            queue.ring.clear(State::Closed, refuse);
        })
    }

    /// Whether nobody is inside and nobody waits; if not, `waker` is woken when that is so.
    pub(crate) fn poll_drained(&self, waker: &Waker) -> Poll<()> {
        // Outside of the lock: it may run anything.
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        self.set_slow();
        let drained = self.is_empty(&queue);
        if drained {
            self.clear_slow_if_idle(&queue);
            return Poll::Ready(());
        }
        if !queue.drainers.iter().any(|known| known.will_wake(&waker)) {
            queue.drainers.push(waker);
        }
        Poll::Pending
    }
}

impl Door {
    /// Closes the door for good: whoever waits or comes is refused, whoever is inside finishes.
    pub fn close(&self) {
        self.0.change(|admission, now| admission.close(now));
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.0.admission.with_queue(|queue| queue.closed)
    }

    /// Closes the door, waits until nobody is inside, and returns how many still are after
    /// `timeout`: 0 when all have left.
    pub async fn drain(&self, timeout: Duration) -> usize {
        self.close();
        let drained = poll_fn(|context| self.0.admission.poll_drained(context.waker()));
        match tokio::time::timeout(timeout, drained).await {
            Ok(()) => 0,
            Err(_) => self.in_flight(),
        }
    }
}
