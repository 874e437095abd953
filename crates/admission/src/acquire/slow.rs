//! The way of a request that the fast path does not let in.

use std::task::{Poll, Waker, ready};

use tidegate_core::Refused;

use super::Acquire;
use crate::admission::{Entered, Entry, Request};
use crate::door::Door;
use crate::effects::Effects;
use crate::inner::Inner;
use crate::primitives::Std;
use crate::refusal::Refusal;
use crate::tab::Tab;
use crate::times::NEVER;
use crate::waiter::Ticket;

impl<T: Tab> Acquire<T> {
    /// What a saturated limit does needs no effects, and is kept apart from the rest: to carry them
    /// along costs more than to wait.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_slow(
        &mut self,
        waker: &Waker,
        thread_until: Option<u64>,
    ) -> Poll<Result<(), Box<Refused>>> {
        let inner = inner(self.door.as_ref());
        let request = Request {
            cost: self.tokens,
            costs: self.tab.costs(),
            waker: Some(waker),
            thread: thread_until.is_some(),
            until: thread_until.unwrap_or(NEVER),
        };
        let (entered, effects) = match inner.admission.stand_behind(&request) {
            Ok(ticket) => {
                self.ticket = Some(waits(inner, ticket));
                return Poll::Pending;
            }
            Err((queue, waker)) => {
                let now = || inner.now();
                let admission = &inner.admission;
                admission.enter_looking(queue, request, waker, &now)
            }
        };
        let entered = match entered {
            Entered::Yes(entry) => Poll::Ready(Ok(entry)),
            Entered::No(refusal) => Poll::Ready(Err(refusal)),
            Entered::Waits(ticket) => {
                self.ticket = Some(waits(inner, ticket));
                Poll::Pending
            }
        };
        self.end_poll(entered, effects, thread_until.is_some())
    }

    /// The same for one that waits already.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_waiting(
        &mut self,
        waker: &Waker,
        thread: bool,
    ) -> Poll<Result<(), Box<Refused>>> {
        match self.ticket.as_ref().and_then(|ticket| ticket.take_alone()) {
            Some(entry) => {
                let since = self.come_in(entry);
                self.tell_wait(since);
                Poll::Ready(Ok(()))
            }
            None => self.poll_again(waker, thread),
        }
    }

    #[inline(never)]
    fn poll_again(&mut self, waker: &Waker, thread: bool) -> Poll<Result<(), Box<Refused>>> {
        let inner = inner(self.door.as_ref());
        let Some(ticket) = &self.ticket else {
            unreachable!("one that waits has a ticket")
        };
        let now = || inner.now();
        let (entered, effects) = inner.admission.poll(ticket, waker, &now);
        self.end_poll(entered, effects, thread)
    }

    #[inline(never)]
    fn end_poll(
        &mut self,
        entered: Poll<Result<Entry, Refusal>>,
        effects: Effects,
        thread: bool,
    ) -> Poll<Result<(), Box<Refused>>> {
        // Before anybody is woken: what it has is not lost if a waker panics.
        let since = match entered {
            Poll::Pending => None,
            Poll::Ready(Ok(entry)) => self.come_in(entry),
            Poll::Ready(Err(_)) => self.stop_waiting(),
        };
        let inner = inner(self.door.as_ref());
        if thread {
            inner.apply(effects);
        } else {
            inner.apply_in_task(effects, entered.is_pending());
        }
        match ready!(entered) {
            Ok(_) => {
                self.tell_wait(since);
                Poll::Ready(Ok(()))
            }
            Err(refusal) => {
                let refused = Box::new(inner.refused(refusal));
                inner.tell_refused(&refused, since);
                Poll::Ready(Err(refused))
            }
        }
    }

    /// Since when it has waited, if somebody is to hear of it.
    #[inline]
    fn stop_waiting(&mut self) -> Option<u64> {
        self.ticket.take()?.since()
    }

    #[inline]
    fn come_in(&mut self, entry: Entry) -> Option<u64> {
        let since = self.stop_waiting();
        self.enter(entry);
        since
    }

    #[inline]
    fn tell_wait(&self, since: Option<u64>) {
        if let (Some(since), Some(door)) = (since, &self.door) {
            door.inner().tell_wait(since);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self) {
        if let (Some(door), Some(ticket)) = (&self.door, &self.ticket) {
            let inner = door.inner();
            inner.change(|admission, now| admission.cancel(ticket, now));
        }
        if self.sent {
            drop(self.take());
        } else {
            self.give_back();
        }
    }
}

#[inline]
fn inner(door: Option<&Door>) -> &Inner {
    let door = door.expect("`Acquire` is not polled after its permit was taken");
    door.inner()
}

/// Has it know since when, if somebody is to hear of that.
#[inline]
fn waits(inner: &Inner, ticket: Ticket<Std>) -> Ticket<Std> {
    if inner.observers.any() {
        ticket.waits_since(inner.now());
    }
    ticket
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tidegate_core::Observer;

    use super::*;

    #[test]
    fn the_time_is_noted_only_where_somebody_is_to_hear_how_long_one_waited() {
        #[derive(Debug)]
        struct Hears;
        impl Observer for Hears {}

        let door = Door::new("gate", 1);
        let _inside = door.try_acquire(1).unwrap();
        let since = || {
            let mut waits = door.acquire(1);
            assert!(waits.poll_in_thread(Waker::noop(), NEVER).is_pending());
            waits.ticket().and_then(|ticket| ticket.since())
        };
        assert_eq!(since(), None);
        door.observe(Arc::new(Hears));
        assert!(since().is_some());
    }
}
