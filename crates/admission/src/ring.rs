//! Who waits, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use crate::admission::Request;
use crate::bills::Bills;
use crate::costs::Costs;
use crate::primitives::Primitives;
use crate::times::NEVER;
use crate::waiter::{State, Ticket, Waiter};

/// Below this many places a ring is not tidied.
const SMALL: usize = 64;

/// Waiters in the order in which they came.
///
/// A waiter that left in the middle leaves a blank. Blanks at the ends go at once; the others when
/// they outnumber the waiters, so that a queue of which everybody but the head gave up stays small.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Ring<P: Primitives> {
    places: VecDeque<Place<P>>,
    next_number: u64,
    waiting: usize,
    /// What all that are waiting cost together.
    cost: u64,
    /// Where one number does not say what each costs.
    pub(crate) bills: Option<Box<Bills>>,
    /// The deadlines of all that are waiting do not fall from front to back.
    deadlines_in_order: bool,
    latest_deadline: u64,
    /// Those that are waiting and are threads, in order; some of them may have left.
    threads: VecDeque<Ticket<P>>,
}

/// Its waiter is waiting, or else it is a blank.
#[derive(Debug)]
struct Place<P: Primitives> {
    waiter: Ticket<P>,
    waker: Option<Waker>,
}

impl<P: Primitives> Default for Ring<P> {
    fn default() -> Self {
        Self {
            places: VecDeque::new(),
            next_number: 0,
            waiting: 0,
            threads: VecDeque::new(),
            cost: 0,
            bills: None,
            deadlines_in_order: true,
            latest_deadline: 0,
        }
    }
}

impl<P: Primitives> Ring<P> {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    /// In the memory of one that is `spare`, if there is any.
    pub(crate) fn push(
        &mut self,
        spare: Option<Ticket<P>>,
        request: &Request<'_>,
        deadline: u64,
        waker: Option<Waker>,
    ) -> Ticket<P> {
        let Request { cost, thread, .. } = *request;
        let number = self.next_number;
        let waiter = match spare {
            Some(waiter) => {
                waiter.reuse(number, cost, deadline, thread);
                waiter
            }
            None => Arc::new(Waiter::new(number, cost, deadline, thread)),
        };
        if let Some(bills) = &mut self.bills {
            bills.write(number, request.costs.unwrap_or(Costs::same(cost)));
        }
        self.next_number += 1;
        self.deadlines_in_order &= deadline >= self.latest_deadline;
        self.latest_deadline = deadline;
        self.waiting += 1;
        self.cost += u64::from(cost);
        if thread {
            self.push_thread(&waiter);
        }
        let ticket = Arc::clone(&waiter);
        self.places.push_back(Place { waiter, waker });
        ticket
    }

    /// The number of the first that is waiting, and what it costs.
    #[inline]
    pub(crate) fn head(&mut self) -> Option<(u64, u32)> {
        while let Some(place) = self.places.front() {
            if place.waiter.is_waiting() {
                return Some((place.waiter.number(), place.waiter.cost()));
            }
            self.places.pop_front();
        }
        None
    }

    /// Takes out the head, for it to enter.
    #[inline]
    pub(crate) fn pop_head(&mut self) -> Option<(Ticket<P>, Option<Waker>)> {
        loop {
            let Place { waiter, waker } = self.places.pop_front()?;
            if waiter.is_waiting() {
                self.uncount(&waiter);
                return Some((waiter, waker));
            }
        }
    }

    /// The head's waker, if it is a task, to be woken: it brings another when it is polled.
    pub(crate) fn take_head_task(&mut self) -> Option<Waker> {
        self.head()?;
        let head = self
            .places
            .front_mut()
            .filter(|head| !head.waiter.is_thread())?;
        head.waker.take()
    }

    /// Whether `waker` is the one to be woken for `ticket`, or none is needed.
    pub(crate) fn knows(&mut self, ticket: &Ticket<P>, waker: &Waker) -> bool {
        let known = |known: &Waker| known.will_wake(waker);
        match self.place(ticket) {
            Some(place) => place.waker.as_ref().is_some_and(known),
            None => ticket.state() != State::PassedOver,
        }
    }

    /// Whom to wake for `ticket`. Returns the waker it replaces, for the caller to drop outside of
    /// any lock: dropping one may run anything.
    pub(crate) fn set_waker(&mut self, ticket: &Ticket<P>, waker: Waker) -> Option<Waker> {
        match self.place(ticket) {
            Some(place) => place.waker.replace(waker),
            None => Some(waker),
        }
    }

    /// A waiter that was passed over has come: it is the first again.
    pub(crate) fn return_to_front(&mut self, ticket: &Ticket<P>) {
        ticket.set(State::Waiting);
        self.waiting += 1;
        if ticket.is_thread() {
            self.push_thread(ticket);
        }
        self.cost += u64::from(ticket.cost());
        if let Some(bills) = &mut self.bills {
            bills.count(ticket.number());
        }
        self.deadlines_in_order = false;
        let place = Place {
            waiter: Arc::clone(ticket),
            waker: None,
        };
        self.places.insert(self.at_or_after(ticket.number()), place);
    }

    /// Takes out one if it is waiting, and returns its waker.
    pub(crate) fn remove(&mut self, ticket: &Ticket<P>, then: State) -> Option<Waker> {
        let waker = self.place(ticket)?.waker.take();
        ticket.set(then);
        self.uncount(ticket);
        self.tidy();
        waker
    }

    /// Takes out everyone whose deadline is `now` or before, giving their wakers to `wake`; returns
    /// the earliest deadline of those that stay.
    pub(crate) fn expire(&mut self, now: u64, then: State, mut wake: impl FnMut(Waker)) -> u64 {
        let mut earliest = NEVER;
        let (mut in_order, mut latest) = (true, 0);
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            if !place.waiter.is_waiting() {
                continue;
            }
            if place.waiter.deadline() <= now {
                place.waiter.set(then);
                place.waker.take().map(&mut wake);
                let waiter = Arc::clone(&place.waiter);
                self.uncount(&waiter);
            } else {
                earliest = earliest.min(place.waiter.deadline());
                if self.deadlines_in_order {
                    (in_order, latest) = (true, self.latest_deadline);
                    break;
                }
                in_order &= place.waiter.deadline() >= latest;
                latest = place.waiter.deadline();
            }
        }
        (self.deadlines_in_order, self.latest_deadline) = (in_order, latest);
        self.tidy();
        earliest
    }

    /// Takes out everyone, giving their wakers to `wake`.
    pub(crate) fn clear(&mut self, then: State, mut wake: impl FnMut(Waker)) {
        for place in self.places.drain(..) {
            if place.waiter.is_waiting() {
                place.waiter.set(then);
                place.waker.map(&mut wake);
            }
        }
        self.waiting = 0;
        self.threads = VecDeque::new();
        self.cost = 0;
        if let Some(bills) = &mut self.bills {
            bills.uncount_all();
        }
        self.tidy();
    }

    /// The first thread that is waiting.
    pub(crate) fn first_thread(&mut self) -> Option<&Ticket<P>> {
        while self.threads.front().is_some_and(|one| !one.is_waiting()) {
            self.threads.pop_front();
        }
        self.threads.front()
    }

    /// How to wake it.
    pub(crate) fn first_thread_waker(&mut self) -> Option<&Waker> {
        let first = Arc::clone(self.first_thread()?);
        self.place(&first)?.waker.as_ref()
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.places.capacity() + self.threads.capacity()
    }

    fn push_thread(&mut self, thread: &Ticket<P>) {
        if self.threads.len() == self.threads.capacity() {
            self.threads.retain(|one| one.is_waiting());
            self.threads.reserve(self.threads.len() + 1);
        }
        let number = thread.number();
        let place = self.threads.partition_point(|one| one.number() < number);
        self.threads.insert(place, Arc::clone(thread));
    }

    /// Where one stands that is waiting.
    fn place(&mut self, ticket: &Ticket<P>) -> Option<&mut Place<P>> {
        let index = self.at_or_after(ticket.number());
        self.places
            .get_mut(index)
            .filter(|place| Arc::ptr_eq(&place.waiter, ticket) && ticket.is_waiting())
    }

    fn uncount(&mut self, waiter: &Waiter<P>) {
        self.waiting -= 1;
        self.cost -= u64::from(waiter.cost());
        if let Some(bills) = &mut self.bills {
            bills.uncount(waiter.number());
        }
    }

    /// Where `number` stands, or else the next one after it. Without blanks a subtraction finds it.
    fn at_or_after(&self, number: u64) -> usize {
        let Some(front) = self.places.front() else {
            return 0;
        };
        let offset = number.saturating_sub(front.waiter.number()) as usize;
        match self.places.get(offset) {
            Some(place) if place.waiter.number() == number => offset,
            _ => self
                .places
                .partition_point(|place| place.waiter.number() < number),
        }
    }

    /// Drops blanks where that costs no more than making them did.
    fn tidy(&mut self) {
        while self
            .places
            .front()
            .is_some_and(|place| !place.waiter.is_waiting())
        {
            self.places.pop_front();
        }
        while self
            .places
            .back()
            .is_some_and(|place| !place.waiter.is_waiting())
        {
            self.places.pop_back();
        }
        let blanks = self.places.len() - self.waiting;
        if blanks > SMALL && blanks > self.waiting {
            self.places.retain(|place| place.waiter.is_waiting());
        }
        if self.places.is_empty() {
            self.deadlines_in_order = true;
            self.latest_deadline = 0;
        }
        self.shrink();
    }

    /// Gives back the memory of a burst that is over.
    pub(crate) fn shrink(&mut self) {
        shrink(&mut self.places);
        let _pops_those_that_left = self.first_thread();
        shrink(&mut self.threads);
    }
}

fn shrink<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > SMALL && queue.len() < queue.capacity() / 8 {
        queue.shrink_to((queue.len() * 2).max(SMALL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acquire::Acquire;
    use crate::primitives::Std;

    const ONE: Request<'_> = Request {
        cost: 1,
        costs: None,
        waker: None,
        thread: false,
        until: NEVER,
    };

    fn ring(waiters: usize) -> (Ring<Std>, Vec<Ticket<Std>>) {
        let mut ring = Ring::default();
        let tickets = (0..waiters)
            .map(|_| ring.push(None, &ONE, NEVER, None))
            .collect();
        (ring, tickets)
    }

    #[test]
    fn a_waiter_its_place_and_its_future_hold_ninety_six_bytes() {
        let counts = 2 * size_of::<usize>();
        assert_eq!(
            size_of::<Acquire>() + size_of::<Place<Std>>() + size_of::<Waiter<Std>>() + counts,
            96
        );
    }

    #[test]
    fn a_queue_that_everybody_but_its_ends_left_is_small() {
        let (mut ring, tickets) = ring(10_000);
        for ticket in &tickets[1..9_999] {
            ring.remove(ticket, State::Gone);
        }
        assert!(ring.places.len() <= 2 * SMALL + 2, "{}", ring.places.len());
        assert!(ring.places.capacity() <= 16 * SMALL);
        assert_eq!(ring.waiting(), 2);
        ring.pop_head();
        assert!(Arc::ptr_eq(&ring.pop_head().unwrap().0, &tickets[9_999]));
    }

    #[test]
    fn one_who_was_passed_over_is_the_first_again() {
        let (mut ring, tickets) = ring(3);
        for _ in 0..2 {
            ring.pop_head().unwrap().0.set(State::PassedOver);
        }
        ring.return_to_front(&tickets[1]);
        ring.return_to_front(&tickets[0]);
        for ticket in &tickets {
            assert!(Arc::ptr_eq(&ring.pop_head().unwrap().0, ticket));
        }
        assert_eq!((ring.waiting(), ring.cost()), (0, 0));
    }

    #[test]
    fn deadlines_out_of_order_are_all_found() {
        let mut ring = Ring::<Std>::default();
        let tickets = [30, 10, 20].map(|deadline| ring.push(None, &ONE, deadline, None));
        assert_eq!(ring.expire(10, State::Expired, |_| {}), 20);
        assert_eq!(tickets[1].state(), State::Expired);
        assert_eq!(ring.expire(25, State::Expired, |_| {}), 30);
        assert_eq!(ring.waiting(), 1);
    }
}
