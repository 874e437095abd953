//! The wait of a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tidegate_core::{Refused, RefusedReason};

use crate::admission::{Entered, Entry, Request};
use crate::door::{Door, Inner};
use crate::permit::Permit;
use crate::primitives::Std;
use crate::waiter::Ticket;

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
    if let Some(entry) = inner.admission.try_enter(cost, || inner.now()) {
        return Ok(Permit::new(door.clone(), entry));
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let request = Request {
        cost,
        waker: Some(&waker),
        thread: true,
    };
    let deadline = timeout.map(|timeout| {
        inner
            .now()
            .saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
    });
    inner.threads.fetch_add(1, Relaxed);
    let (entered, effects) = inner.admission.enter(request, || inner.now());
    inner.apply(effects);
    let entry = match entered {
        Entered::Yes(entry) => Ok(entry),
        Entered::No(refusal) => Err(inner.refused(refusal)),
        Entered::Waits(ticket) => wait(inner, &ticket, &waker, deadline, timeout),
    };
    inner.threads.fetch_sub(1, Relaxed);
    entry.map(|entry| Permit::new(door.clone(), entry))
}

fn wait(
    inner: &Inner,
    ticket: &Ticket<Std>,
    waker: &Waker,
    deadline: Option<u64>,
    timeout: Option<Duration>,
) -> Result<Entry, Refused> {
    let outcome = loop {
        let (poll, effects) = inner.admission.poll(ticket, waker, || inner.now());
        inner.apply(effects);
        if let Poll::Ready(entry) = poll {
            break entry.map_err(|refusal| inner.refused(refusal));
        }
        let now = inner.now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            let effects = inner.admission.cancel(ticket, || inner.now());
            inner.apply(effects);
            let max_wait = timeout.unwrap_or_default();
            break Err(Refused::new(
                inner.by(),
                RefusedReason::WaitedTooLong { max_wait },
            ));
        }
        // The first thread keeps the time for all who wait.
        let event = inner.admission.with_queue(|queue| {
            let leads = queue
                .ring
                .first_thread()
                .is_some_and(|(first, _)| Arc::ptr_eq(first, ticket));
            queue.armed.filter(|_| leads)
        });
        if event.is_some_and(|at| at <= now) {
            inner.on_timer();
            continue;
        }
        match event.into_iter().chain(deadline).min() {
            Some(at) => std::thread::park_timeout(Duration::from_nanos(at - now)),
            None => std::thread::park(),
        }
    };
    inner.wake_first_thread();
    outcome
}
