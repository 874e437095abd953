//! How often the timer is armed, and what memory stays.

use std::cell::Cell;
use std::task::{Poll, Waker};
use std::time::Duration;

use tidegate_core::per;

use crate::admission::{Admission, Entered, Request};
use crate::effects::Effects;
use crate::primitives::Std;
use crate::waiter::Ticket;

const MILLISECOND: u64 = 1_000_000;

/// An admission whose timers fire on time.
struct Timed {
    admission: Admission<Std>,
    now: Cell<u64>,
    alarm: Option<u64>,
    armed: usize,
}

impl Timed {
    fn new(limit: usize) -> Self {
        Self {
            admission: Admission::new(limit, 1),
            now: Cell::new(0),
            alarm: None,
            armed: 0,
        }
    }

    fn apply(&mut self, effects: Effects) {
        if effects.arm.is_some() {
            self.armed += 1;
            self.alarm = effects.arm;
        }
        effects.wake_all();
    }

    fn pass(&mut self, time: u64) {
        let until = self.now.get() + time;
        while let Some(alarm) = self.alarm.filter(|&alarm| alarm <= until) {
            self.now.set(alarm);
            self.alarm = None;
            let effects = self.admission.on_timer(&|| self.now.get());
            self.apply(effects);
        }
        self.now.set(until);
    }

    /// A place inside, or one in the queue.
    fn enter(&mut self, thread: bool) -> Option<Ticket<Std>> {
        self.admission
            .try_enter(1, || self.now.get())
            .is_none()
            .then(|| {
                let request = Request {
                    cost: 1,
                    costs: None,
                    waker: Some(Waker::noop()),
                    thread,
                    until: u64::MAX,
                };
                let (entered, effects) = self.admission.enter(request, &|| self.now.get());
                self.apply(effects);
                match entered {
                    Entered::Waits(ticket) => ticket,
                    other => panic!("it does not wait: {other:?}"),
                }
            })
    }

    fn leave(&mut self) {
        if let Some(spare) = self.admission.leave() {
            let effects = self.admission.leave_slow(spare, &|| self.now.get());
            self.apply(effects);
        }
    }

    fn comes_for(&mut self, ticket: &Ticket<Std>) -> bool {
        let (poll, effects) = self
            .admission
            .poll(ticket, Waker::noop(), &|| self.now.get());
        self.apply(effects);
        match poll {
            Poll::Ready(entered) => entered.is_ok(),
            Poll::Pending => false,
        }
    }
}

#[test]
fn a_saturated_limit_arms_its_timer_with_the_ticks_and_not_with_the_requests() {
    let mut door = Timed::new(8);
    let mut waits: std::collections::VecDeque<_> =
        (0..64).filter_map(|_| door.enter(false)).collect();
    // A million requests a second, for a second.
    for _ in 0..1_000_000 {
        door.leave();
        assert!(door.comes_for(&waits.pop_front().unwrap()));
        waits.extend(door.enter(false));
        door.pass(1_000);
    }
    assert!(door.armed <= 50, "{} times", door.armed);
}

#[test]
fn a_paced_queue_arms_its_timer_once_for_each_that_enters() {
    let mut door = Timed::new(1_000);
    let pace = per(1.0, Duration::from_millis(3));
    let effects = door.admission.set_pace(Some(pace), &|| 0);
    door.apply(effects);
    let waits: Vec<_> = (0..1_001).filter_map(|_| door.enter(false)).collect();
    for ticket in &waits {
        door.pass(3 * MILLISECOND);
        assert!(door.comes_for(ticket));
        door.leave();
    }
    assert!(door.armed <= 1_070, "{} times", door.armed);
}

#[test]
fn a_queue_that_was_long_gives_back_its_memory() {
    let mut door = Timed::new(1);
    assert!(door.enter(false).is_none());
    let waits: Vec<_> = (0..100_000)
        .filter_map(|number| door.enter(number % 2 == 0))
        .collect();
    for ticket in &waits {
        door.leave();
        assert!(door.comes_for(ticket));
    }
    drop(waits);
    door.leave();
    // Whatever the timer was armed for.
    door.pass(2_000 * MILLISECOND);
    let capacity = door
        .admission
        .with_queue(|queue| queue.ring.capacity() + queue.granted.capacity());
    assert!(capacity <= 512, "{capacity}");
}

#[test]
fn one_that_does_not_come_keeps_no_memory_of_those_behind_it() {
    // No timer fires here: as without a runtime.
    let mut door = Timed::new(2);
    let inside: Vec<_> = (0..2).filter_map(|_| door.enter(false)).collect();
    assert!(inside.is_empty());
    let _parked = door.enter(false).expect("it waits");
    door.leave();
    for _ in 0..100_000 {
        let next = door.enter(true).expect("it waits");
        door.leave();
        assert!(door.comes_for(&next));
    }
    let capacity = door
        .admission
        .with_queue(|queue| queue.ring.capacity() + queue.granted.capacity());
    assert!(capacity <= 512, "{capacity}");
}

#[test]
fn a_saturated_limit_reads_the_clock_with_the_ticks_and_not_with_the_requests() {
    let (door, reads) = (Admission::<Std>::new(8, 1), Cell::new(0));
    let now = || {
        reads.set(reads.get() + 1);
        0
    };
    let enter = || {
        let request = Request {
            cost: 1,
            costs: None,
            waker: Some(Waker::noop()),
            thread: false,
            until: u64::MAX,
        };
        match door.try_enter(1, now) {
            Some(_) => None,
            None => Some(door.enter(request, &now).0),
        }
    };
    let mut waits: std::collections::VecDeque<_> = (0..64).filter_map(|_| enter()).collect();
    for _ in 0..10_000 {
        let spare = door.leave().expect("others wait");
        door.leave_slow(spare, &now).wake_all();
        let Some(Entered::Waits(ticket)) = waits.pop_front() else {
            panic!("it waits")
        };
        assert!(ticket.take_alone().is_some());
        waits.extend(enter());
    }
    // One for the first tick, one for the first look at whether anybody enters.
    assert_eq!((waits.len(), reads.get()), (56, 2));
}
