//! Who waits, in order.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::task::Waker;

/// The place of a waiter: counts up, never used twice.
pub(crate) type Ticket = NonZeroU64;

/// Below this many places a ring is not tidied.
const SMALL: usize = 64;

/// Waiters in the order in which they came.
///
/// A waiter that left in the middle leaves a blank. Blanks at the ends go at once; the others when
/// they outnumber the waiters, so that a queue of which everybody but the head gave up stays small.
#[derive(Debug)]
pub(crate) struct Ring {
    places: VecDeque<Place>,
    next_ticket: Ticket,
    /// Nobody before this one is [`State::Waiting`].
    cursor: Ticket,
    waiting: usize,
    granted: usize,
    /// How many of those that are waiting are threads.
    threads: usize,
    blanks: usize,
    /// What all that are waiting cost together.
    cost: u64,
    /// The deadlines of all that are waiting do not fall from front to back.
    deadlines_in_order: bool,
    latest_deadline: u64,
}

#[derive(Debug)]
pub(crate) struct Place {
    ticket: Ticket,
    pub(crate) waker: Option<Waker>,
    /// When it is refused, in nanoseconds on the door's clock.
    pub(crate) deadline: u64,
    pub(crate) cost: u32,
    pub(crate) state: State,
    /// Whether a thread is parked here rather than a task.
    pub(crate) thread: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    /// It may enter, holds a place and perhaps tokens, and has not come since so many ticks.
    Granted {
        tokens: bool,
        ticks: u8,
    },
    /// It did not come when it might have entered. It is the first again when it does.
    PassedOver,
    /// It left.
    Blank,
}

impl Default for Ring {
    fn default() -> Self {
        Self {
            places: VecDeque::new(),
            next_ticket: Ticket::MIN,
            cursor: Ticket::MIN,
            waiting: 0,
            granted: 0,
            threads: 0,
            blanks: 0,
            cost: 0,
            deadlines_in_order: true,
            latest_deadline: 0,
        }
    }
}

impl Ring {
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(crate) fn granted(&self) -> usize {
        self.granted
    }

    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn push(&mut self, cost: u32, deadline: u64, thread: bool) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.saturating_add(1);
        self.deadlines_in_order &= deadline >= self.latest_deadline;
        self.latest_deadline = deadline;
        self.count_in(cost, thread);
        self.places.push_back(Place {
            ticket,
            waker: None,
            deadline,
            cost,
            state: State::Waiting,
            thread,
        });
        ticket
    }

    pub(crate) fn get(&mut self, ticket: Ticket) -> Option<&mut Place> {
        let index = self.at_or_after(ticket);
        self.places
            .get_mut(index)
            .filter(|place| place.ticket == ticket && place.state != State::Blank)
    }

    /// The first that is waiting.
    pub(crate) fn head(&mut self) -> Option<&mut Place> {
        if self.waiting == 0 {
            self.cursor = self.next_ticket;
            return None;
        }
        let from = self.at_or_after(self.cursor);
        let head = (from..self.places.len())
            .find(|&index| self.places[index].state == State::Waiting)
            .expect("`waiting` counts the places that are waiting, and none is before the cursor");
        let place = &mut self.places[head];
        self.cursor = place.ticket;
        Some(place)
    }

    /// Lets the head enter, and returns whom to wake.
    pub(crate) fn grant_head(&mut self, tokens: bool) -> Option<Waker> {
        let place = self.head()?;
        place.state = State::Granted { tokens, ticks: 0 };
        let (waker, cost, thread) = (place.waker.take(), place.cost, place.thread);
        self.count_out(cost, thread);
        self.granted += 1;
        waker
    }

    /// A waiter that was passed over has come: it is the first again.
    pub(crate) fn return_to_front(&mut self, ticket: Ticket) {
        if let Some(place) = self.get(ticket)
            && place.state == State::PassedOver
        {
            place.state = State::Waiting;
            let (cost, thread) = (place.cost, place.thread);
            self.count_in(cost, thread);
            self.cursor = self.cursor.min(ticket);
            self.deadlines_in_order = false;
        }
    }

    /// Counts a tick for everyone who may enter, and passes over those that have not come for
    /// `patience` ticks. Returns how many places and how many tokens they held.
    pub(crate) fn tick(&mut self, patience: u8) -> (usize, u64) {
        let (mut passed, mut cost) = (0, 0);
        let mut left = self.granted;
        for place in &mut self.places {
            if left == 0 {
                break;
            }
            if let State::Granted { tokens, ticks } = place.state {
                left -= 1;
                if ticks + 1 < patience {
                    let ticks = ticks + 1;
                    place.state = State::Granted { tokens, ticks };
                } else {
                    place.state = State::PassedOver;
                    passed += 1;
                    cost += if tokens { u64::from(place.cost) } else { 0 };
                }
            }
        }
        self.granted -= passed;
        (passed, cost)
    }

    /// Takes a waiter out, whatever its state. Its waker is for the caller to drop outside of any
    /// lock: dropping one may run anything.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Place> {
        let index = self.at_or_after(ticket);
        let place = self.places.get_mut(index)?;
        if place.ticket != ticket || place.state == State::Blank {
            return None;
        }
        let removed = Place {
            waker: place.waker.take(),
            ..*place
        };
        place.state = State::Blank;
        self.blanks += 1;
        self.forget(&removed);
        self.tidy();
        Some(removed)
    }

    /// Takes out everyone whose deadline is `now` or before, giving their wakers to `wake`; returns
    /// the earliest deadline of those that stay.
    pub(crate) fn expire(&mut self, now: u64, mut wake: impl FnMut(Waker)) -> Option<u64> {
        let mut earliest = None;
        let from = self.at_or_after(self.cursor);
        for index in from..self.places.len() {
            let place = &mut self.places[index];
            if place.state != State::Waiting {
                continue;
            }
            if place.deadline > now {
                earliest =
                    earliest.map_or(Some(place.deadline), |at: u64| Some(at.min(place.deadline)));
                if self.deadlines_in_order {
                    break;
                }
                continue;
            }
            let removed = Place {
                waker: place.waker.take(),
                ..*place
            };
            place.state = State::Blank;
            self.blanks += 1;
            self.forget(&removed);
            removed.waker.map(&mut wake);
        }
        self.tidy();
        earliest.filter(|&at| at != u64::MAX)
    }

    /// Takes out everyone who is waiting or was passed over.
    pub(crate) fn clear(&mut self, mut wake: impl FnMut(Waker)) {
        for place in &mut self.places {
            if matches!(place.state, State::Waiting | State::PassedOver) {
                place.state = State::Blank;
                self.blanks += 1;
                place.waker.take().map(&mut wake);
            }
        }
        self.waiting = 0;
        self.threads = 0;
        self.cost = 0;
        self.tidy();
    }

    /// The first thread that is waiting, and how to wake it.
    pub(crate) fn first_thread(&self) -> Option<(Ticket, Option<&Waker>)> {
        if self.threads == 0 {
            return None;
        }
        self.places
            .iter()
            .find(|place| place.state == State::Waiting && place.thread)
            .map(|place| (place.ticket, place.waker.as_ref()))
    }

    fn count_in(&mut self, cost: u32, thread: bool) {
        self.waiting += 1;
        self.threads += usize::from(thread);
        self.cost += u64::from(cost);
    }

    fn count_out(&mut self, cost: u32, thread: bool) {
        self.waiting -= 1;
        self.threads -= usize::from(thread);
        self.cost -= u64::from(cost);
    }

    fn forget(&mut self, removed: &Place) {
        match removed.state {
            State::Waiting => self.count_out(removed.cost, removed.thread),
            State::Granted { .. } => self.granted -= 1,
            State::PassedOver | State::Blank => {}
        }
    }

    /// Where `ticket` stands, or else the next one after it. Without blanks a subtraction finds it.
    fn at_or_after(&self, ticket: Ticket) -> usize {
        let Some(front) = self.places.front() else {
            return 0;
        };
        let offset = ticket.get().saturating_sub(front.ticket.get()) as usize;
        match self.places.get(offset) {
            Some(place) if place.ticket == ticket => offset,
            _ => self.places.partition_point(|place| place.ticket < ticket),
        }
    }

    fn tidy(&mut self) {
        while let Some(Place {
            state: State::Blank,
            ..
        }) = self.places.front()
        {
            self.places.pop_front();
            self.blanks -= 1;
        }
        while let Some(Place {
            state: State::Blank,
            ..
        }) = self.places.back()
        {
            self.places.pop_back();
            self.blanks -= 1;
        }
        if self.blanks > SMALL && self.blanks * 2 > self.places.len() {
            self.places.retain(|place| place.state != State::Blank);
            self.blanks = 0;
        }
        if self.places.is_empty() {
            self.deadlines_in_order = true;
            self.latest_deadline = 0;
        }
        if self.places.capacity() > SMALL && self.places.len() < self.places.capacity() / 8 {
            self.places.shrink_to((self.places.len() * 2).max(SMALL));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(waiters: usize) -> (Ring, Vec<Ticket>) {
        let mut ring = Ring::default();
        let tickets = (0..waiters)
            .map(|_| ring.push(1, u64::MAX, false))
            .collect();
        (ring, tickets)
    }

    #[test]
    fn a_place_holds_forty_bytes() {
        assert_eq!(size_of::<Place>(), 40);
    }

    #[test]
    fn a_queue_that_everybody_but_its_ends_left_is_small() {
        let (mut ring, tickets) = ring(10_000);
        for &ticket in &tickets[1..9_999] {
            ring.remove(ticket);
        }
        assert!(ring.places.len() <= 2 * SMALL + 2, "{}", ring.places.len());
        assert!(ring.places.capacity() <= 16 * SMALL);
        assert_eq!(ring.waiting(), 2);
        ring.grant_head(true);
        assert_eq!(ring.head().unwrap().ticket, tickets[9_999]);
    }

    #[test]
    fn one_who_was_passed_over_is_the_first_again() {
        let (mut ring, tickets) = ring(3);
        ring.grant_head(true);
        assert_eq!(ring.tick(1), (1, 1));
        assert_eq!(ring.head().unwrap().ticket, tickets[1]);
        ring.return_to_front(tickets[0]);
        assert_eq!(ring.head().unwrap().ticket, tickets[0]);
        assert_eq!((ring.waiting(), ring.granted(), ring.cost()), (3, 0, 3));
    }

    #[test]
    fn deadlines_out_of_order_are_all_found() {
        let mut ring = Ring::default();
        let tickets = [30, 10, 20].map(|deadline| ring.push(1, deadline, false));
        assert_eq!(ring.expire(10, |_| {}), Some(20));
        assert!(ring.get(tickets[1]).is_none());
        assert_eq!(ring.expire(25, |_| {}), Some(30));
        assert_eq!(ring.waiting(), 1);
    }
}
