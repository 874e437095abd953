use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidegate_core::Refused;

use crate::admission::{Entered, Entry, Request};
use crate::door::Door;
use crate::permit::Permit;
use crate::ring::Ticket;

/// The wait at a [`Door`]. Holds neither permit nor place before it is polled; dropped, it leaves
/// the queue and passes on what it was granted.
#[derive(Debug)]
#[must_use = "nothing happens before it is polled"]
pub struct Acquire {
    /// `None` once its permit was taken.
    door: Option<Door>,
    /// Its place in the queue, while it waits.
    ticket: Option<Ticket>,
    cost: u32,
    /// What it has taken, once it entered.
    entry: Option<Entry>,
    /// Whether the request was sent: then the tokens are spent.
    sent: bool,
}

impl Acquire {
    #[inline]
    pub(crate) fn new(door: Door, cost: u32) -> Self {
        Self {
            door: Some(door),
            ticket: None,
            cost,
            entry: None,
            sent: false,
        }
    }

    /// Waits to enter, and keeps the permit until it is [taken](Self::take). Dropped before that,
    /// it gives back the place, and the tokens too unless the request was [sent](Self::sent).
    ///
    /// # Errors
    ///
    /// If it may not wait, waited too long, or the door is closed.
    ///
    /// # Panics
    ///
    /// If its permit was taken; and outside of a tokio runtime with time enabled, if only time can
    /// let it in.
    #[inline(always)]
    pub fn poll_enter(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Box<Refused>>> {
        if let (None, None, Some(door)) = (self.entry, self.ticket, &self.door) {
            let inner = door.inner();
            self.entry = inner.admission.try_enter(self.cost, || inner.now());
        }
        if self.entry.is_some() {
            return Poll::Ready(Ok(()));
        }
        self.poll_slow(context)
    }

    /// The request goes out: from now on its tokens are spent.
    #[inline(always)]
    pub fn sent(&mut self) {
        self.sent = true;
    }

    /// The permit, once it has [entered](Self::poll_enter).
    #[inline(always)]
    pub fn take(&mut self) -> Option<Permit> {
        let entry = self.entry.take()?;
        self.door.take().map(|door| Permit::new(door, entry))
    }

    #[cold]
    #[inline(never)]
    fn poll_slow(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Box<Refused>>> {
        let door = self
            .door
            .as_ref()
            .expect("not polled after its permit was taken");
        let inner = door.inner();
        let entered = if let Some(ticket) = self.ticket {
            let (poll, effects) = inner
                .admission
                .poll(ticket, context.waker(), || inner.now());
            inner.apply_in_task(effects);
            ready!(poll)
        } else {
            let request = Request {
                cost: self.cost,
                waker: Some(context.waker()),
                thread: false,
            };
            let (entered, effects) = inner.admission.enter(request, || inner.now());
            if let Entered::Waits(ticket) = entered {
                self.ticket = Some(ticket);
            }
            inner.apply_in_task(effects);
            match entered {
                Entered::Yes(entry) => Ok(entry),
                Entered::No(refusal) => Err(refusal),
                Entered::Waits(_) => return Poll::Pending,
            }
        };
        self.ticket = None;
        Poll::Ready(match entered {
            Ok(entry) => {
                self.entry = Some(entry);
                Ok(())
            }
            Err(refusal) => Err(Box::new(inner.refused(refusal))),
        })
    }

    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        if let (Some(door), Some(ticket)) = (&self.door, self.ticket) {
            let inner = door.inner();
            let effects = inner.admission.cancel(ticket, || inner.now());
            inner.apply(effects);
        }
        match self.take() {
            Some(permit) if !self.sent => permit.give_back(),
            permit => drop(permit),
        }
    }
}

impl Future for Acquire {
    type Output = Result<Permit, Refused>;

    /// # Panics
    ///
    /// As [`poll_enter`](Self::poll_enter).
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match ready!(self.poll_enter(context)) {
            Ok(()) => Poll::Ready(Ok(self.take().expect("it has entered"))),
            Err(refused) => Poll::Ready(Err(*refused)),
        }
    }
}

impl Drop for Acquire {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() || self.entry.is_some() {
            self.give_up();
        }
    }
}
