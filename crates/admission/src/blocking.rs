//! The wait of a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tidegate_core::{Refused, RefusedReason, saturating_nanos};

use crate::door::Door;
use crate::inner::Inner;
use crate::permit::Permit;
use crate::times::NEVER;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn acquire(
    door: &Door,
    cost: u32,
    timeout: Option<Duration>,
) -> Result<Permit, Refused> {
    let inner = door.inner();
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let deadline = timeout.map_or(NEVER, |timeout| {
        inner.now().saturating_add(saturating_nanos(timeout))
    });
    // Dropped in the other order: it leaves the queue, and then passes on the time.
    let mut thread = Counted::new(inner);
    let mut acquire = door.acquire(cost);
    loop {
        match acquire.poll_in_thread(&waker, deadline) {
            Poll::Ready(Ok(())) => return Ok(acquire.take().expect("it has entered")),
            Poll::Ready(Err(refused)) => return Err(within(timeout, *refused)),
            Poll::Pending => thread.waited = true,
        }
        let now = inner.now();
        if deadline <= now {
            let max_wait = timeout.unwrap_or_default();
            let refused = Refused::new(inner.by, RefusedReason::WaitedTooLong { max_wait });
            let since = acquire.ticket().and_then(|ticket| ticket.since());
            inner.tell_refused(&refused, since);
            return Err(refused);
        }
        // The first thread keeps the time for all who wait.
        let event = inner.admission.with_queue(|queue| {
            let leads = queue
                .ring
                .first_thread()
                .zip(acquire.ticket())
                .is_some_and(|(first, ticket)| Arc::ptr_eq(first, ticket));
            queue.times.armed().filter(|_| leads)
        });
        if event.is_some_and(|at| at <= now) {
            inner.on_timer();
            continue;
        }
        match event.unwrap_or(NEVER).min(deadline) {
            NEVER => std::thread::park(),
            at => std::thread::park_timeout(Duration::from_nanos(at - now)),
        }
    }
}

/// The wait that was too long is its own, if that is shorter than the door's.
fn within(timeout: Option<Duration>, mut refused: Refused) -> Refused {
    if let RefusedReason::WaitTooLong { max_wait } = &mut refused.reason {
        *max_wait = timeout.map_or(*max_wait, |timeout| timeout.min(*max_wait));
    }
    refused
}

/// Counts a thread while it may wait.
struct Counted<'a> {
    inner: &'a Inner,
    waited: bool,
}

impl<'a> Counted<'a> {
    fn new(inner: &'a Inner) -> Self {
        inner.threads.fetch_add(1, Relaxed);
        Self {
            inner,
            waited: false,
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if self.waited {
            self.inner.pass_on_the_time();
        }
        self.inner.threads.fetch_sub(1, Relaxed);
    }
}
