//! Closing for good.

use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::{RefusedReason, Start, Steer, per_hour, per_second};

use crate::support::{Log, ms, now, poll_once};

async fn assert_all_end_at_once(door: Door) {
    let log = Log::new();
    let waits: Vec<_> = (0..100)
        .map(|_| {
            let door = door.clone();
            tokio::spawn(async move { door.acquire(1).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(ms(10)).await;
    assert_eq!(door.waiting(), 100);
    door.close();
    assert_eq!(door.waiting(), 0);
    for one in waits {
        let refused = one.await.unwrap().unwrap_err();
        assert_eq!(
            (refused.by, refused.reason),
            ("door", RefusedReason::Closed)
        );
    }
    assert_eq!(log.at(), 10);
    assert!(door.is_closed() && door.snapshot().closed);
    assert_eq!(
        door.acquire(1).await.unwrap_err().reason,
        RefusedReason::Closed
    );
    assert_eq!(
        door.try_acquire(1).unwrap_err().reason,
        RefusedReason::Closed
    );
    assert_eq!(
        door.acquire_blocking(1, None).unwrap_err().reason,
        RefusedReason::Closed
    );
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_every_wait_for_a_place_a_token_or_the_end_of_a_pause() {
    let gate = Door::new("door", 1);
    let inside = gate.try_acquire(1).unwrap();
    assert_all_end_at_once(gate.clone()).await;
    assert_eq!(gate.in_flight(), 1);
    drop(inside);
    assert_eq!(gate.in_flight(), 0);

    let rate = Door::new("door", 10);
    rate.set_pace(Some(per_hour(1.0).start(Start::Empty)));
    assert_all_end_at_once(rate).await;

    let paused = Door::new("door", 10);
    paused.pause_until((now() + Duration::from_secs(3_600)).into_std());
    assert_all_end_at_once(paused).await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_when_the_last_one_leaves() {
    let door = Door::new("gate", 3);
    let log = Log::new();
    for stay in [10, 20, 30] {
        let permit = door.acquire(1).await.unwrap();
        tokio::spawn(async move {
            tokio::time::sleep(ms(stay)).await;
            drop(permit);
        });
    }
    assert_eq!(door.drain(Duration::from_secs(1)).await, 0);
    assert_eq!(log.at(), 30);
    assert_eq!(door.drain(Duration::ZERO).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_drain_says_how_many_are_left_when_its_time_is_up() {
    let door = Door::new("gate", 3);
    let inside: Vec<_> = (0..3).map(|_| door.try_acquire(1).unwrap()).collect();
    let log = Log::new();
    let mut drain = inside.into_iter();
    let later = tokio::spawn({
        let first = drain.next();
        async move {
            tokio::time::sleep(ms(50)).await;
            drop(first);
        }
    });
    assert_eq!(door.drain(ms(100)).await, 2);
    assert_eq!(log.at(), 100);
    later.await.unwrap();
    let both = [door.clone(), door.clone()]
        .map(|door| tokio::spawn(async move { door.drain(Duration::from_secs(10)).await }));
    tokio::time::sleep(ms(10)).await;
    drop(drain);
    for one in both {
        assert_eq!(one.await.unwrap(), 0);
    }
    assert_eq!(log.at(), 110);
}

#[tokio::test(start_paused = true)]
async fn one_who_was_granted_before_the_close_may_enter_and_one_passed_over_may_not() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let [mut passed, mut granted] = [door.acquire(1), door.acquire(1)];
    assert!(poll_once(&mut passed).is_pending());
    drop(held);
    tokio::time::sleep(ms(100)).await;
    assert!(poll_once(&mut granted).is_pending());
    tokio::time::sleep(ms(160)).await;
    let held = door.try_acquire(1).unwrap();
    assert!(poll_once(&mut granted).is_pending());
    drop(held);
    door.close();
    let inside = granted.await.unwrap();
    assert_eq!(passed.await.unwrap_err().reason, RefusedReason::Closed);
    drop(inside);
    assert_eq!((door.in_flight(), door.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_door_whose_last_handle_goes_leaves_no_timer_behind() {
    let handle = tokio::runtime::Handle::current();
    let door = Door::new("rate", 1);
    door.set_pace(Some(per_second(1.0).start(Start::Empty)));
    let mut wait = door.acquire(1);
    assert!(poll_once(&mut wait).is_pending());
    drop((wait, door));
    let log = Log::new();
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!((log.at(), handle.metrics().num_alive_tasks()), (5_000, 0));
}
