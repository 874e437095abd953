//! Who hears of waits and refusals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidegate_admission::Door;
use tidegate_core::{Observer, Refused, RefusedReason, per_second};

use crate::support::{assert_free, ms, poll_once};

/// What was heard, in words.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn at(door: &Door) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        door.observe(Arc::clone(&heard) as _);
        heard
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Heard {
    fn on_wait(&self, _: Instant, waited: Duration) {
        self.0.lock().unwrap().push(format!("waited {waited:?}"));
    }

    fn on_refused(&self, _: Instant, refused: &Refused, waited: Duration) {
        let heard = format!("{:?} after {waited:?}", refused.reason);
        self.0.lock().unwrap().push(heard);
    }
}

#[tokio::test(start_paused = true)]
async fn each_wait_is_told_once_with_its_length_and_one_that_does_not_wait_is_not() {
    let door = Door::new("gate", 5);
    door.set_pace(Some(per_second(10.0).burst(1)));
    let (heard, also) = (Heard::at(&door), Heard::at(&door));
    for _ in 0..3 {
        drop(door.acquire(1).await.unwrap());
    }
    assert_eq!(heard.take(), ["waited 100ms", "waited 100ms"]);
    assert_eq!(also.take().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_refusal_is_told_once_with_the_wait_before_it() {
    let door = Door::new("gate", 1);
    door.set_max_queue(1);
    door.set_max_wait(Some(ms(250)));
    let heard = Heard::at(&door);
    let inside = door.acquire(1).await.unwrap();
    assert!(door.try_acquire(1).is_err());
    let mut waits = door.acquire(1);
    assert!(poll_once(&mut waits).is_pending());
    assert!(poll_once(&mut door.acquire(1)).is_ready());
    assert!(waits.await.is_err());
    drop(inside);
    door.close();
    assert!(door.acquire(1).await.is_err());
    let told = [
        "NoRoom after 0ns",
        "QueueFull { max_queue: 1 } after 0ns",
        "WaitedTooLong { max_wait: 250ms } after 250ms",
        "Closed after 0ns",
    ];
    assert_eq!(heard.take(), told);
}

#[test]
fn a_thread_that_waits_or_is_refused_is_told_as_a_task_is() {
    let door = Door::new("gate", 1);
    let inside = door.try_acquire(1).unwrap();
    let heard = Heard::at(&door);
    let refused = door.acquire_blocking(1, Some(ms(5))).unwrap_err();
    let max_wait = ms(5);
    assert_eq!(refused.reason, RefusedReason::WaitedTooLong { max_wait });
    let told = heard.take();
    assert!(told.len() == 1 && told[0].starts_with("WaitedTooLong { max_wait: 5ms } after"));

    std::thread::scope(|scope| {
        let waits = scope.spawn(|| door.acquire_blocking(1, None).is_ok());
        while door.waiting() == 0 {
            std::thread::yield_now();
        }
        drop(inside);
        assert!(waits.join().unwrap());
    });
    let told = heard.take();
    assert!(told.len() == 1 && told[0].starts_with("waited"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_come_back_to_the_door() {
    #[derive(Debug)]
    struct Raises(Door);

    impl Observer for Raises {
        fn on_refused(&self, _: Instant, _: &Refused, _: Duration) {
            self.0.set_limit(2);
        }
    }

    let door = Door::new("gate", 1);
    door.observe(Arc::new(Raises(door.clone())));
    let _inside = door.try_acquire(1).unwrap();
    assert!(door.try_acquire(1).is_err());
    assert!(door.try_acquire(1).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_given_up_tells_nothing() {
    let door = Door::new("gate", 1);
    let heard = Heard::at(&door);
    let inside = door.acquire(1).await.unwrap();
    let mut waits = door.acquire(1);
    let mut granted = door.acquire(1);
    assert!(poll_once(&mut waits).is_pending());
    assert!(poll_once(&mut granted).is_pending());
    drop(waits);
    drop(inside);
    // It was let in and does not come.
    drop(granted);
    assert_eq!(heard.take(), [""; 0]);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_costs_neither_a_place_nor_a_token() {
    #[derive(Debug)]
    struct Panics;

    impl Observer for Panics {
        fn on_wait(&self, _: Instant, _: Duration) {
            panic!("on purpose")
        }

        fn on_refused(&self, _: Instant, _: &Refused, _: Duration) {
            panic!("on purpose")
        }
    }

    let door = Door::new("gate", 1);
    door.set_pace(Some(per_second(1.0).burst(2)));
    door.set_max_queue(1);
    door.observe(Arc::new(Panics));
    let inside = door.acquire(1).await.unwrap();
    let mut waits = door.acquire(1);
    assert!(poll_once(&mut waits).is_pending());
    for _ in 0..3 {
        assert!(catch_unwind(AssertUnwindSafe(|| door.try_acquire(1))).is_err());
        let mut refused = door.acquire(1);
        assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut refused))).is_err());
    }
    drop(inside);
    // It has entered, and gives back what it took when it is dropped.
    assert!(catch_unwind(AssertUnwindSafe(|| poll_once(&mut waits))).is_err());
    assert_eq!(door.in_flight(), 1);
    drop(waits);
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    assert!(door.try_acquire(1).is_ok(), "its token is there again");
}
