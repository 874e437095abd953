use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_core::Refused;

use crate::admission::{Entered, Request};
use crate::door::Door;
use crate::permit::Permit;
use crate::ring::Ticket;

/// The wait at a [`Door`]. Holds neither permit nor place before it is polled; dropped, it leaves
/// the queue and passes on what it was granted.
#[derive(Debug)]
#[must_use = "nothing happens before it is polled"]
pub struct Acquire {
    /// `None` once it has entered or was refused.
    door: Option<Door>,
    ticket: Option<Ticket>,
    cost: u32,
}

impl Acquire {
    pub(crate) fn new(door: Door, cost: u32) -> Self {
        Self {
            door: Some(door),
            ticket: None,
            cost,
        }
    }
}

impl Future for Acquire {
    type Output = Result<Permit, Refused>;

    /// # Panics
    ///
    /// If it is polled again after it was ready; and outside of a tokio runtime with time enabled,
    /// if only time can let it in.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let door = this.door.as_ref().expect("polled after it was ready");
        let inner = door.inner();
        let entry = if let Some(ticket) = this.ticket {
            let (poll, effects) = inner
                .admission
                .poll(ticket, context.waker(), || inner.now());
            inner.apply_in_task(effects);
            std::task::ready!(poll)
        } else {
            let (entered, effects) = inner.enter(Request {
                cost: this.cost,
                waker: Some(context.waker()),
                thread: false,
            });
            if let Entered::Waits(ticket) = entered {
                this.ticket = Some(ticket);
            }
            effects
                .into_iter()
                .for_each(|effects| inner.apply_in_task(effects));
            match entered {
                Entered::Yes(entry) => Ok(entry),
                Entered::No(refusal) => Err(refusal),
                Entered::Waits(_) => return Poll::Pending,
            }
        };
        this.ticket = None;
        Poll::Ready(match (entry, this.door.take()) {
            (Ok(entry), Some(door)) => Ok(Permit::new(door, entry)),
            (Err(refusal), Some(door)) => Err(door.inner().refused(refusal)),
            (_, None) => unreachable!("the door was there a moment ago"),
        })
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        if let (Some(door), Some(ticket)) = (&self.door, self.ticket) {
            let inner = door.inner();
            let effects = inner.admission.cancel(ticket, || inner.now());
            inner.apply(effects);
        }
    }
}
