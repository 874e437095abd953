//! Permits that end at a time.

use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::per_second;

use crate::support::{Log, assert_free, ms, poll_once};

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_frees_its_place_for_one_who_waits() {
    let door = Door::new("gate", 1);
    let leased = door.acquire(1).await.unwrap().expire_after(ms(100));
    let log = Log::new();
    let next = door.acquire(1).await.unwrap();
    assert_eq!((log.at(), door.overdue()), (100, 1));
    assert!(leased.is_overdue());
    assert_eq!(door.in_flight(), 1);
    drop(leased);
    assert_eq!(door.in_flight(), 1);
    drop(next);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_begins_while_others_wait_wakes_them_when_it_runs_out() {
    let door = Door::new("gate", 1);
    let inside = door.acquire(1).await.unwrap();
    let log = Log::new();
    let next = tokio::spawn({
        let (door, log) = (door.clone(), log.clone());
        async move {
            let permit = door.acquire(1).await.unwrap();
            log.note();
            permit
        }
    });
    tokio::time::sleep(ms(20)).await;
    let leased = inside.expire_after(ms(100));
    drop(next.await.unwrap());
    assert_eq!(log.times(), [120]);
    drop(leased);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_while_nobody_needs_its_place_is_found_by_the_next_to_come() {
    let door = Door::new("gate", 2);
    let leases = [10, 20].map(|longest| door.try_acquire(1).unwrap().expire_after(ms(longest)));
    tokio::time::sleep(ms(15)).await;
    assert_eq!((door.in_flight(), door.overdue()), (2, 0));
    let inside = door.try_acquire(1).unwrap();
    assert!(door.try_acquire(1).is_err());
    assert_eq!((door.in_flight(), door.overdue()), (2, 1));
    drop((leases, inside));
    assert_eq!(door.overdue(), 1);
    assert_free(&door, 2);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_in_time_frees_its_place_once() {
    let door = Door::new("gate", 1);
    drop(door.try_acquire(1).unwrap().expire_after(ms(100)));
    let held = door.try_acquire(1).unwrap();
    tokio::time::sleep(ms(200)).await;
    let mut waits = door.acquire(1);
    assert!(poll_once(&mut waits).is_pending());
    assert_eq!((door.in_flight(), door.overdue()), (1, 0));
    drop((waits, held));
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_of_two_over_a_lowered_limit_leaves_its_place_to_one_who_waits() {
    let door = Door::new("gate", 2);
    let leased = door.try_acquire(1).unwrap().expire_after(ms(10));
    let other = door.try_acquire(1).unwrap();
    door.set_limit(1);
    let mut waits = door.acquire(1);
    assert!(poll_once(&mut waits).is_pending());
    // At this moment the lease runs out, but the timer has not fired yet.
    tokio::time::advance(ms(10)).await;
    drop(other);
    assert!(poll_once(&mut waits).is_ready());
    drop((leased, waits));
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_million_leases_that_ended_behind_a_long_one_take_no_memory() {
    let door = Door::new("gate", 2);
    let _long = door
        .try_acquire(1)
        .unwrap()
        .expire_after(Duration::from_secs(3_600));
    for _ in 0..1_000_000 {
        drop(
            door.try_acquire(1)
                .unwrap()
                .expire_after(Duration::from_secs(7_200)),
        );
    }
    let text = format!("{door:?}");
    assert!(text.len() < 1_000, "{text}");
}

#[tokio::test(start_paused = true)]
async fn tokens_are_not_given_back_by_a_lease() {
    let door = Door::new("gate", 1);
    door.set_pace(Some(per_second(1.0)));
    let leased = door.acquire(1).await.unwrap().expire_after(ms(10));
    let log = Log::new();
    let next = door.acquire(1).await.unwrap();
    assert_eq!((log.at(), door.overdue()), (1_000, 1));
    drop((leased, next));
    assert_free(&door, 1);
}
