//! How many are inside.

use tidegate_admission::Door;

use crate::support::{Log, Wakes, assert_free, ms, poll_once, poll_with};

/// Starts callers that stay inside for 10 ms each.
fn crowd(door: &Door, callers: usize) -> Vec<tokio::task::JoinHandle<usize>> {
    (0..callers)
        .map(|_| {
            let door = door.clone();
            tokio::spawn(async move {
                let permit = door.acquire(1).await.unwrap();
                tokio::time::sleep(ms(10)).await;
                drop(permit);
                door.in_flight()
            })
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_10_lowered_to_2_under_100_who_wait_falls_to_2_and_stays() {
    let door = Door::new("gate", 10);
    let log = Log::new();
    let crowd = crowd(&door, 110);
    tokio::time::sleep(ms(5)).await;
    assert_eq!((door.in_flight(), door.waiting()), (10, 100));

    door.set_limit(2);
    assert_eq!(door.in_flight(), 10);
    tokio::time::sleep(ms(6)).await;
    for _ in 0..49 {
        assert_eq!(door.in_flight(), 2);
        tokio::time::sleep(ms(10)).await;
    }
    let mut in_flight = Vec::new();
    for caller in crowd {
        in_flight.push(caller.await.unwrap());
    }
    // Ten at once, then a hundred by twos.
    assert_eq!(log.at(), 510);
    assert_eq!(in_flight[..9], [9, 8, 7, 6, 5, 4, 3, 2, 2]);
    assert!(in_flight[9..].iter().all(|&in_flight| in_flight <= 2));
    assert_free(&door, 2);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_flaps_within_a_millisecond_is_the_last_one() {
    let door = Door::new("gate", 20);
    let crowd = crowd(&door, 120);
    tokio::time::sleep(ms(1)).await;
    assert_eq!((door.in_flight(), door.waiting()), (20, 100));
    door.set_limit(5);
    door.set_limit(50);
    door.set_limit(5);
    assert_eq!((door.in_flight(), door.waiting()), (50, 70));

    // Those inside leave at 10 and 11 ms; then five at a time, each for 10 ms.
    let log = Log::new();
    let mut in_flight = Vec::new();
    for _ in 0..160 {
        in_flight.push(door.in_flight());
        tokio::time::sleep(ms(1)).await;
    }
    assert!(in_flight.is_sorted_by(|before, after| *after <= (*before).max(5)));
    assert_eq!(in_flight[..9], [50; 9]);
    assert_eq!(in_flight[11..150], [5; 139]);
    for caller in crowd {
        caller.await.unwrap();
    }
    assert_eq!(log.at(), 160);
    assert_free(&door, 5);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_flaps_with_nobody_waiting_admits_nobody_before_there_is_room() {
    let door = Door::new("gate", 20);
    let mut inside: Vec<_> = (0..20).map(|_| door.try_acquire(1).unwrap()).collect();
    for limit in [5, 50, 5] {
        door.set_limit(limit);
    }
    while inside.len() > 5 {
        assert!(door.try_acquire(1).is_err());
        inside.pop();
    }
    assert!(door.try_acquire(1).is_err());
    inside.pop();
    assert!(door.try_acquire(1).is_ok());
    drop(inside);
    assert_free(&door, 5);
}

#[test]
fn the_ends_of_a_limit_are_one_and_a_billion() {
    let door = Door::new("gate", usize::MAX);
    assert_eq!(door.limit(), Door::MAX_LIMIT);
    door.set_limit(0);
    assert_eq!(door.limit(), 1);
    assert_free(&door, 1);
    let held = door.try_acquire(1).unwrap();
    let mut waits: Vec<_> = (0..100).map(|_| door.acquire(1)).collect();
    assert!(waits.iter_mut().all(|one| poll_once(one).is_pending()));
    door.set_limit(usize::MAX);
    assert_eq!((door.in_flight(), door.waiting()), (101, 0));
    drop((waits, held));
    door.set_limit(3);
    assert_free(&door, 3);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_has_entered_holds_nothing_once_its_permit_is_gone() {
    let door = Door::new("gate", 2);
    let mut done: Vec<_> = (0..2).map(|_| door.acquire(1)).collect();
    for one in &mut done {
        assert!(poll_once(one).is_ready());
    }
    let third = door.acquire(1).await.unwrap();
    drop(done);
    assert_eq!(door.in_flight(), 1);
    drop(third);
    assert_free(&door, 2);
}

#[tokio::test(start_paused = true)]
async fn a_release_wakes_one() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let (woken, waker) = Wakes::waker();
    let mut waits: Vec<_> = (0..100).map(|_| door.acquire(1)).collect();
    for wait in &mut waits {
        assert!(poll_with(wait, &waker).is_pending());
    }
    drop(held);
    assert_eq!(woken.count(), 1);
    drop(waits);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn ten_started_and_five_dropped_leave_ten_places() {
    let door = Door::new("gate", 10);
    let mut started: Vec<_> = (0..15).map(|_| door.acquire(1)).collect();
    let mut inside: Vec<_> = started.iter_mut().map(poll_once).collect();
    inside.drain(..5);
    drop(started);
    drop(inside);
    assert_free(&door, 10);
}
