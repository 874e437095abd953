//! How many wait, and for how long.

use std::task::Poll;

use tidegate_admission::{Door, Permit};
use tidegate_core::{Refused, RefusedReason, per_second};

use crate::support::{Log, assert_free, ms, now, poll_once};

fn refused(poll: Poll<Result<Permit, Refused>>) -> Refused {
    match poll {
        Poll::Ready(Err(refused)) => refused,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn of_ten_at_once_three_enter_five_wait_and_two_are_refused_on_the_first_poll() {
    let door = Door::new("rate", 100);
    door.set_pace(Some(per_second(10.0).burst(3)));
    door.set_max_queue(5);
    let log = Log::new();
    let mut waits = Vec::new();
    for _ in 0..8 {
        let mut acquire = door.acquire(1);
        match poll_once(&mut acquire) {
            Poll::Ready(entered) => drop(entered.unwrap()),
            Poll::Pending => waits.push(acquire),
        }
    }
    assert_eq!((waits.len(), door.waiting()), (5, 5));
    for _ in 0..2 {
        let refused = refused(poll_once(&mut door.acquire(1)));
        assert_eq!(refused.reason, RefusedReason::QueueFull { max_queue: 5 });
        assert_eq!(refused.retry_after, Some(ms(600)));
    }
    let mut times = Vec::new();
    for one in waits {
        drop(one.await.unwrap());
        times.push(log.at());
    }
    assert_eq!(times, [100, 200, 300, 400, 500]);
    assert_free(&door, 100);
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_be_served_in_time_is_refused_at_once_and_the_others_are_served() {
    let door = Door::new("rate", 100);
    door.set_pace(Some(per_second(10.0).burst(3)));
    door.set_max_wait(Some(ms(500)));
    let log = Log::new();
    let mut waits = Vec::new();
    for _ in 0..10 {
        let mut acquire = door.acquire(1);
        match poll_once(&mut acquire) {
            Poll::Ready(Ok(permit)) => drop(permit),
            Poll::Ready(Err(refused)) => {
                let max_wait = ms(500);
                assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
                assert_eq!(refused.retry_after, Some(ms(600)));
            }
            Poll::Pending => waits.push(acquire),
        }
    }
    // The last of them is served at the moment at which it would be refused.
    let mut times = Vec::new();
    for one in waits {
        drop(one.await.unwrap());
        times.push(log.at());
    }
    assert_eq!(times, [100, 200, 300, 400, 500]);
}

#[tokio::test(start_paused = true)]
async fn an_estimate_counts_the_pause_and_the_tokens_that_come_meanwhile() {
    let door = Door::new("rate", 100);
    door.set_pace(Some(per_second(1.0).burst(2)));
    tokio::time::sleep(ms(5_000)).await;
    door.pause_until((now() + ms(10_000)).into_std());
    door.set_max_wait(Some(ms(12_000)));
    let log = Log::new();
    // Two at the end of the pause, then one a second.
    let mut waits = Vec::new();
    for _ in 0..4 {
        let mut acquire = door.acquire(1);
        assert!(poll_once(&mut acquire).is_pending());
        waits.push(acquire);
    }
    let refused = refused(poll_once(&mut door.acquire(1)));
    assert_eq!(refused.retry_after, Some(ms(13_000)));
    let mut times = Vec::new();
    for one in waits {
        drop(one.await.unwrap());
        times.push(log.at());
    }
    assert_eq!(times, [10_000, 10_000, 11_000, 12_000]);
}

#[tokio::test(start_paused = true)]
async fn an_estimate_starts_now_when_the_bucket_has_long_been_full() {
    let door = Door::new("gate", 1);
    door.set_pace(Some(per_second(1.0)));
    let _held = door.try_acquire(1).unwrap();
    tokio::time::sleep(ms(60_000)).await;
    door.set_max_queue(2);
    let mut waits = [door.acquire(1), door.acquire(1)];
    assert!(waits.iter_mut().all(|one| poll_once(one).is_pending()));
    // One token is there, and it is behind two.
    let refused = refused(poll_once(&mut door.acquire(1)));
    assert_eq!(refused.retry_after, Some(ms(2_000)));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_to_try_again_at_once() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    assert_eq!(door.try_acquire(1).unwrap_err().retry_after, None);
    drop(held);
    door.set_pace(Some(per_second(10.0).burst(5)));
    let held = door.try_acquire(1).unwrap();
    // There are tokens: when the place is left is not known.
    assert_eq!(door.try_acquire(1).unwrap_err().retry_after, None);
    drop(held);
    door.set_limit(10);
    drop(door.try_acquire(4).unwrap());
    assert_eq!(door.try_acquire(2).unwrap_err().retry_after, Some(ms(200)));
}

#[tokio::test(start_paused = true)]
async fn whoever_waited_as_long_as_it_may_is_refused_then() {
    let door = Door::new("gate", 1);
    door.set_max_wait(Some(ms(50)));
    let held = door.try_acquire(1).unwrap();
    let log = Log::new();
    let first = tokio::spawn({
        let door = door.clone();
        async move { door.acquire(1).await }
    });
    tokio::time::sleep(ms(20)).await;
    let second = tokio::spawn({
        let (door, log) = (door.clone(), log.clone());
        async move { (door.acquire(1).await, log.at()) }
    });
    let max_wait = ms(50);
    let refused = first.await.unwrap().unwrap_err();
    assert_eq!(refused.reason, RefusedReason::WaitedTooLong { max_wait });
    assert_eq!(log.at(), 50);
    let (refused, at) = second.await.unwrap();
    assert_eq!((refused.unwrap_err().retry_after, at), (None, 70));
    assert_eq!(door.waiting(), 0);
    drop(held);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn waits_of_different_lengths_each_end_in_time() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let log = Log::new();
    let mut waits = Vec::new();
    for (longest, stays) in [
        (None, true),
        (Some(300), true),
        (Some(100), false),
        (Some(0), false),
    ] {
        door.set_max_wait(longest.map(ms));
        let (door, log) = (door.clone(), log.clone());
        waits.push(tokio::spawn(async move {
            let outcome = door.acquire(1).await;
            (log.at(), outcome.is_ok() == stays)
        }));
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(ms(200)).await;
    drop(held);
    let mut outcomes = Vec::new();
    for one in waits {
        outcomes.push(one.await.unwrap());
    }
    assert_eq!(outcomes, [(200, true), (200, true), (100, true), (0, true)]);
    assert_free(&door, 1);
}

#[test]
fn a_longest_wait_of_nothing_refuses_on_the_first_poll_and_needs_no_runtime() {
    let door = Door::new("gate", 1);
    door.set_max_wait(Some(ms(0)));
    let held = door.try_acquire(1).unwrap();
    let refused = refused(poll_once(&mut door.acquire(1)));
    let max_wait = ms(0);
    assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    assert_eq!((refused.retry_after, door.waiting()), (None, 0));
    drop(held);
    assert!(poll_once(&mut door.acquire(1)).is_ready());
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_longest_wait_of_nothing_refuses_at_once_while_another_wait_is_timed() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    door.set_max_wait(Some(ms(100)));
    let log = Log::new();
    let mut first = door.acquire(1);
    assert!(poll_once(&mut first).is_pending());
    tokio::time::sleep(ms(10)).await;
    door.set_max_wait(Some(ms(0)));
    for _ in 0..3 {
        assert!(door.acquire(1).await.is_err());
    }
    assert_eq!(log.at(), 10);
    assert!(first.await.is_err());
    assert_eq!(log.at(), 100);
    drop(held);
    assert_free(&door, 1);
}
