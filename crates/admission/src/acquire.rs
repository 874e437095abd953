#![expect(
    clippy::inline_always,
    reason = "the fast path of every request: a tenth of its instructions, see `benches/overhead`"
)]

mod slow;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tidegate_core::Refused;

use crate::admission::Entry;
use crate::door::Door;
use crate::permit::Permit;
use crate::place::Place;
use crate::primitives::Std;
use crate::tab::Tab;
use crate::waiter::Ticket;

/// The wait at a [`Door`]. Holds neither permit nor place before it is polled; dropped, it leaves
/// the queue and passes on what it was granted.
///
/// With a [`Charge`](crate::Charge) as its tab it costs something else in each pace of the door.
#[must_use = "nothing happens before it is polled"]
pub struct Acquire<T: Tab = ()> {
    /// `None` once its permit was taken.
    door: Option<Door>,
    /// While it waits.
    ticket: Option<Ticket<Std>>,
    /// Outside, what it costs; inside, how many tokens it has taken.
    tokens: u32,
    inside: bool,
    /// The request went out.
    sent: bool,
    tab: T,
}

impl<T: Tab> Acquire<T> {
    #[inline(always)]
    pub(crate) fn new(door: Door, cost: u32, tab: T) -> Self {
        Self {
            door: Some(door),
            ticket: None,
            tokens: cost,
            inside: false,
            sent: false,
            tab,
        }
    }

    /// Waits to enter, and keeps the permit until it is [taken](Self::take). Dropped before that,
    /// it gives back the place, and the tokens too unless the request was [sent](Self::set_sent).
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
        if self.inside {
            return Poll::Ready(Ok(()));
        }
        if self.ticket.is_some() {
            return self.poll_waiting(context.waker(), false);
        }
        if let Some(door) = &self.door {
            let inner = door.inner();
            if let Some(entry) = inner.admission.try_enter(self.tokens, || inner.now()) {
                self.enter(entry);
                return Poll::Ready(Ok(()));
            }
        }
        self.poll_slow(context.waker(), None)
    }

    /// The same for a thread that parks, until then, and keeps the time where nobody else does.
    pub(crate) fn poll_in_thread(
        &mut self,
        waker: &Waker,
        until: u64,
    ) -> Poll<Result<(), Box<Refused>>> {
        match self.ticket {
            Some(_) => self.poll_waiting(waker, true),
            None => self.poll_slow(waker, Some(until)),
        }
    }

    /// While it waits.
    pub(crate) fn ticket(&self) -> Option<&Ticket<Std>> {
        self.ticket.as_ref()
    }

    /// Whether the request goes out, so that from now on its tokens are spent; or not yet, where it turns
    /// out to be in the hands of a layer below. Default: not yet.
    #[inline(always)]
    pub fn set_sent(&mut self, sent: bool) {
        self.sent = sent;
    }

    /// What it was charged, once it has [entered](Self::poll_enter).
    #[inline(always)]
    pub fn tab(&self) -> T {
        self.tab
    }

    /// Gives back what it has taken, if it has: nothing was sent.
    pub fn give_back(&mut self) {
        let door = self.door.clone();
        let Some(permit) = self.take() else { return };
        match (self.tab.charge(), door) {
            (Some(charge), Some(door)) => {
                drop(permit);
                door.give_back(&charge);
            }
            _ => permit.give_back(),
        }
    }

    /// The permit, once it has [entered](Self::poll_enter).
    #[inline(always)]
    pub fn take(&mut self) -> Option<Permit> {
        let tokens = self.tokens;
        let door = self.leave_with_door()?;
        Some(Permit::new(door, Entry::charged(tokens)))
    }

    /// The same, without the tokens: they are spent.
    #[inline(always)]
    pub fn take_place(&mut self) -> Option<Place> {
        self.leave_with_door().map(Place::new)
    }

    /// The door, once it has [entered](Self::poll_enter), without a place there: its tokens are spent.
    #[inline(always)]
    pub fn take_door(&mut self) -> Option<Door> {
        let door = self.leave_with_door()?;
        door.inner().leave();
        Some(door)
    }

    #[inline(always)]
    fn leave_with_door(&mut self) -> Option<Door> {
        if !self.inside {
            return None;
        }
        self.inside = false;
        self.door.take()
    }

    #[inline(always)]
    fn enter(&mut self, entry: Entry) {
        self.inside = true;
        self.tokens = entry.tokens;
        self.tab.charged(entry.stamp);
    }
}

impl<T: Tab + Unpin> Future for Acquire<T> {
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

impl<T: Tab> Drop for Acquire<T> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() || self.inside {
            self.give_up();
        }
    }
}

impl<T: Tab> fmt::Debug for Acquire<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("tokens", &self.tokens)
            .field("waiting", &self.ticket.is_some())
            .field("inside", &self.inside)
            .finish_non_exhaustive()
    }
}
