//! Wakers are foreign code: they may panic, and may use the door.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};

use tidegate_admission::{Acquire, Door};
use tidegate_core::{Start, per_second};

use crate::support::{Wakes, assert_free, ms, now, poll_once, poll_with};

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

fn waits(door: &Door, waker: &Waker) -> Acquire {
    let mut acquire = door.acquire(1);
    assert!(poll_with(&mut acquire, waker).is_pending());
    acquire
}

#[test]
fn a_waker_that_panics_costs_no_other_its_wake_up() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let panics = Waker::from(Arc::new(Panics));
    let (woken, waker) = Wakes::waker();
    let first = waits(&door, &waker);
    let second = waits(&door, &panics);
    let others: Vec<_> = (0..5).map(|_| waits(&door, &waker)).collect();
    let raised = catch_unwind(AssertUnwindSafe(|| door.set_limit(7)));
    assert!(raised.is_err());
    assert_eq!((woken.count(), door.in_flight()), (5, 7));
    drop((first, second, others, held));
    assert_free(&door, 7);
}

#[test]
fn a_waker_that_panics_costs_the_one_who_enters_nothing() {
    // Nobody drives this runtime: its timer does not fire, and whoever comes lets in who waits.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let _context = runtime.enter();
    let door = Door::new("gate", 2);
    let panics = Waker::from(Arc::new(Panics));
    let pause_for_a_moment = || {
        let mut moment = ms(5);
        loop {
            door.pause_until((now() + moment).into_std());
            let mut waiting = door.acquire(1);
            if poll_with(&mut waiting, &panics).is_pending() {
                std::thread::sleep(moment + ms(5));
                return waiting;
            }
            // It was over before somebody could wait.
            moment *= 2;
        }
    };

    let waiting = pause_for_a_moment();
    let tried = catch_unwind(AssertUnwindSafe(|| door.try_acquire(1)));
    assert!(tried.is_err());
    assert_eq!(door.in_flight(), 1);
    drop(waiting);
    assert_free(&door, 2);

    let waiting = pause_for_a_moment();
    let mut acquire = door.acquire(1);
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(&mut acquire)));
    assert!(polled.is_err());
    assert_eq!(door.in_flight(), 2);
    drop((acquire, waiting));
    assert_free(&door, 2);

    let waiting = pause_for_a_moment();
    let parked = catch_unwind(AssertUnwindSafe(|| door.acquire_blocking(1, None)));
    assert!(parked.is_err());
    assert_eq!(door.in_flight(), 1);
    drop(waiting);
    assert_free(&door, 2);
}

/// Uses the door whenever it is woken or dropped. One that does when it is cloned takes unsafe code.
struct Reenters {
    door: Door,
    calls: Arc<AtomicUsize>,
}

impl Wake for Reenters {
    fn wake(self: Arc<Self>) {
        self.use_door();
    }
}

impl Reenters {
    fn use_door(&self) {
        self.calls.fetch_add(1, SeqCst);
        drop(self.door.try_acquire(1));
        self.door.set_limit(self.door.limit());
        let mut acquire = self.door.acquire(1);
        let polled = poll_once(&mut acquire);
        drop((polled, acquire));
        let _snapshot = format!("{:?}", self.door);
    }
}

impl Drop for Reenters {
    fn drop(&mut self) {
        self.use_door();
    }
}

fn reentrant(door: &Door) -> (Arc<AtomicUsize>, Waker) {
    let calls = Arc::new(AtomicUsize::new(0));
    let waker = Waker::from(Arc::new(Reenters {
        door: door.clone(),
        calls: Arc::clone(&calls),
    }));
    (calls, waker)
}

#[test]
fn a_waker_that_uses_the_door_when_it_is_woken_or_dropped_does_not_hang() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();

    // Dropped with the future that waits, replaced by another, or refused.
    let (calls, waker) = reentrant(&door);
    let mut wait = door.acquire(1);
    assert!(poll_with(&mut wait, &waker).is_pending());
    drop(waker);
    assert!(poll_once(&mut wait).is_pending());
    assert_eq!(calls.load(SeqCst), 1);
    let (calls, waker) = reentrant(&door);
    assert!(poll_with(&mut wait, &waker).is_pending());
    drop(waker);
    drop(wait);
    assert_eq!(calls.load(SeqCst), 1);
    door.set_max_queue(0);
    let (calls, waker) = reentrant(&door);
    let mut wait = door.acquire(1);
    let Poll::Ready(Err(_)) = poll_with(&mut wait, &waker) else {
        panic!("nobody may wait");
    };
    drop(waker);
    assert_eq!(calls.load(SeqCst), 1);

    // Woken by one who leaves, and dropped by that.
    door.set_max_queue(usize::MAX);
    let (calls, waker) = reentrant(&door);
    let wait = waits(&door, &waker);
    drop(waker);
    drop(held);
    assert_eq!(calls.load(SeqCst), 2);
    drop(wait);
    assert_free(&door, 1);

    // Woken by the close.
    let held = door.try_acquire(1).unwrap();
    let (calls, waker) = reentrant(&door);
    let wait = waits(&door, &waker);
    drop(waker);
    door.close();
    assert_eq!(calls.load(SeqCst), 2);
    drop((wait, held));
    assert_eq!(door.in_flight(), 0);
}

/// Wakes by dropping a permit: a chain of releases through wakers.
struct Releases(Mutex<Option<tidegate_admission::Permit>>);

impl Wake for Releases {
    fn wake(self: Arc<Self>) {
        let held = self.0.lock().unwrap().take();
        drop(held);
    }
}

#[test]
fn a_waker_that_leaves_the_door_wakes_the_next() {
    let door = Door::new("gate", 2);
    let [first, second] = [(); 2].map(|()| door.try_acquire(1).unwrap());
    let releases = Waker::from(Arc::new(Releases(Mutex::new(Some(second)))));
    let (woken, waker) = Wakes::waker();
    let both = (waits(&door, &releases), waits(&door, &waker));
    drop(first);
    assert_eq!((woken.count(), door.in_flight()), (1, 2));
    drop(both);
    assert_free(&door, 2);
}

#[test]
fn a_future_that_is_polled_by_another_task_wakes_that_one() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let (old, first) = Wakes::waker();
    let (new, second) = Wakes::waker();
    let mut wait = waits(&door, &first);
    assert!(poll_with(&mut wait, &second).is_pending());
    drop(held);
    assert_eq!((old.count(), new.count()), (0, 1));
    assert!(poll_with(&mut wait, &first).is_ready());
    assert_free(&door, 1);
}

/// Gives up the wait, and with it the last handle of a door, when it is woken.
struct GivesUp(Mutex<Option<Acquire>>);

impl Wake for GivesUp {
    fn wake(self: Arc<Self>) {
        let acquire = self.0.lock().unwrap().take();
        drop(acquire);
    }
}

#[tokio::test(start_paused = true)]
async fn a_door_may_go_while_its_timer_fires() {
    let door = Door::new("rate", 1);
    door.set_pace(Some(per_second(10.0).start(Start::Empty)));
    let gives_up = Arc::new(GivesUp(Mutex::default()));
    let wait = waits(&door, &Waker::from(Arc::clone(&gives_up)));
    drop(door);
    *gives_up.0.lock().unwrap() = Some(wait);
    tokio::time::sleep(ms(200)).await;
    assert!(gives_up.0.lock().unwrap().is_none());
    assert_eq!(Arc::strong_count(&gives_up), 1);
}
