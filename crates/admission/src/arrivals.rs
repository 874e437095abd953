//! One that comes, waits, and comes for what it was granted or gives up.

use std::task::{Poll, Waker};

use crate::admission::{Admission, Entered, Entry, Locked, Request};
use crate::costs::Costs;
use crate::effects::Effects;
use crate::primitives::{Lock, Primitives};
use crate::queue::Queue;
use crate::refusal::{Refusal, Why};
use crate::times::{NEVER, Now};
use crate::waiter::{State, Ticket};

impl<P: Primitives> Queue<P> {
    /// Whether it may stand behind the others for as long as it takes.
    #[inline]
    fn takes(&self, request: &Request<'_>) -> bool {
        let for_ever = self.max_wait == NEVER && request.until == NEVER;
        for_ever && request.waker.is_some() && self.ring.waiting() < self.max_queue
    }
}

impl<P: Primitives> Admission<P> {
    /// Enters, or waits, or is refused, once the fast path has failed.
    pub(crate) fn enter(&self, request: Request<'_>, now: Now<'_>) -> (Entered<P>, Effects) {
        match self.stand_behind(&request) {
            Ok(ticket) => (Entered::Waits(ticket), Effects::default()),
            Err((queue, waker)) => self.enter_looking(queue, request, waker, now),
        }
    }

    /// Waits behind the others where nothing but the limit keeps them out. Otherwise
    /// [`enter_looking`](Self::enter_looking) must follow.
    #[inline]
    pub(crate) fn stand_behind(
        &self,
        request: &Request<'_>,
    ) -> Result<Ticket<P>, (Locked<'_, P>, Option<Waker>)> {
        // Outside of the lock: it may run anything.
        let waker = request.waker.cloned();
        let mut queue = self.queue.lock();
        if queue.calm && self.word().is_full() && queue.takes(request) {
            return Ok(queue.push(request, NEVER, waker));
        }
        Err((queue, waker))
    }

    #[cold]
    pub(crate) fn enter_looking(
        &self,
        mut queue: Locked<'_, P>,
        request: Request<'_>,
        waker: Option<Waker>,
        now: Now<'_>,
    ) -> (Entered<P>, Effects) {
        let queue = &mut *queue;
        let mut effects = Effects::default();
        if queue.closed {
            // The place that it has just given up for want of tokens may have been the last.
            self.settle(queue, now, &mut effects);
            return (Entered::No(Why::Closed.into()), effects);
        }
        self.set_slow();
        let deadline = match queue.max_wait {
            NEVER => NEVER,
            max_wait => queue.times.now(now).saturating_add(max_wait),
        };
        // Whoever stands behind one that waits for a place to be left waits too. There is one if
        // the fast path had taken it and found no tokens.
        let waits =
            queue.ring.waiting() > 0 && queue.times.blocked == NEVER && self.word().is_full();
        let ticket = queue.push(&request, deadline, waker);
        if !waits {
            self.advance(queue, now, &mut effects);
        }
        let entered = match ticket.take(State::Taken) {
            Some(entry) => Entered::Yes(Self::comes(queue, &ticket, entry, now)),
            None => match self.may_not_wait(queue, &request, deadline, now) {
                None => {
                    queue.times.expect(deadline);
                    Entered::Waits(ticket)
                }
                Some(refusal) => {
                    effects.drop_later(queue.ring.remove(&ticket, State::Gone));
                    Self::bill(queue, &ticket);
                    Entered::No(refusal)
                }
            },
        };
        self.settle(queue, now, &mut effects);
        (entered, effects)
    }

    /// Why the last in the queue may not stay there.
    fn may_not_wait(
        &self,
        queue: &mut Queue<P>,
        request: &Request<'_>,
        deadline: u64,
        now: Now<'_>,
    ) -> Option<Refusal> {
        let deadline = deadline.min(request.until);
        let why = if request.waker.is_none() {
            Why::NoRoom
        } else if queue.ring.waiting() > queue.max_queue {
            Why::QueueFull
        } else if queue.cooldown.is_on() && queue.is_paused_too_long(now) {
            Why::Paused
        } else if deadline == NEVER {
            return None;
        } else {
            Why::WaitTooLong
        };
        let now = queue.times.now(now);
        let turn = self.turn(queue, request, now);
        if why == Why::WaitTooLong && turn <= deadline && now < deadline {
            return None;
        }
        let wait = turn.checked_sub(now).filter(|&wait| wait > 0);
        Some(Refusal { why, wait })
    }

    /// When the last in the queue can enter at the earliest, as far as pause and pace tell.
    fn turn(&self, queue: &Queue<P>, request: &Request<'_>, now: u64) -> u64 {
        let from = now.max(queue.pause_until);
        let cost = request.cost;
        if let (Some(meters), Some(bills)) = (&queue.meters, &queue.ring.bills) {
            let costs = request.costs.unwrap_or(Costs::same(cost));
            return meters.turn(&bills.ahead_of(&costs), &costs, from);
        }
        let ahead = queue.ring.cost().saturating_sub(u64::from(cost));
        match queue.pace {
            Some(_) => self.bucket.due_behind(ahead, u64::from(cost), from),
            None => from,
        }
    }

    /// Comes for what was granted, or goes on waiting. Takes the lock only for the latter.
    pub(crate) fn poll(
        &self,
        ticket: &Ticket<P>,
        waker: &Waker,
        now: Now<'_>,
    ) -> (Poll<Result<Entry, Refusal>>, Effects) {
        if let Some(entry) = ticket.take_alone() {
            return (Poll::Ready(Ok(entry)), Effects::default());
        }
        let (mut effects, mut fresh) = (Effects::default(), None);
        let mut queue = self.queue.lock();
        if !queue.ring.knows(ticket, waker) {
            // Outside of the lock: it may run anything.
            drop(queue);
            fresh = Some(waker.clone());
            queue = self.queue.lock();
        }
        let passed_over = ticket.state() == State::PassedOver;
        if passed_over && queue.closed {
            ticket.set(State::Closed);
        } else if passed_over && queue.cooldown.is_on() && queue.is_paused_too_long(now) {
            ticket.set(State::Paused);
        } else if passed_over {
            queue.ring.return_to_front(ticket);
            queue.times.expect(ticket.deadline());
            self.set_slow();
        }
        if let Some(fresh) = fresh {
            effects.drop_later(queue.ring.set_waker(ticket, fresh));
        }
        if passed_over && ticket.is_waiting() {
            self.advance(&mut queue, now, &mut effects);
        }
        self.settle(&mut queue, now, &mut effects);
        let poll = match ticket.state() {
            State::Expired => Poll::Ready(Err(Why::WaitedTooLong.into())),
            State::Closed => Poll::Ready(Err(Why::Closed.into())),
            State::Paused => Poll::Ready(Err(Self::pause_refuses(&mut queue, now))),
            _ => ticket.take(State::Taken).map_or(Poll::Pending, |entry| {
                Poll::Ready(Ok(Self::comes(&mut queue, ticket, entry, now)))
            }),
        };
        if poll.is_ready() {
            Self::bill(&mut queue, ticket);
        }
        (poll, effects)
    }

    /// Takes a waiter out that gave up. What it was granted goes to the next.
    pub(crate) fn cancel(&self, ticket: &Ticket<P>, now: Now<'_>) -> Effects {
        self.change(now, |queue, effects| {
            if let Some(entry) = ticket.take(State::Gone) {
                self.uncount(1);
                self.take_back(queue, ticket, entry);
            }
            effects.drop_later(queue.ring.remove(ticket, State::Gone));
            Self::bill(queue, ticket);
        })
    }
}
