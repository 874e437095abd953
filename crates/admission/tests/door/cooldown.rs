//! A pause that the service asked for: who waits for its end, and how they come back.

use std::task::Poll;
use std::time::Duration;

use futures_util::future::join_all;
use tidegate_admission::Door;
use tidegate_core::{RefusedReason, per_second};
use tokio::time::advance;

use crate::support::{Log, assert_free, ms, now, poll_once};

fn cool_down(door: &Door, seconds: u64) {
    let until = now() + Duration::from_secs(seconds);
    door.cool_down_until(until.into_std());
}

/// The milliseconds at which so many callers enter, each for a moment.
async fn entries(door: &Door, log: &Log, callers: usize) -> Vec<u64> {
    let all = (0..callers).map(|_| async {
        drop(door.acquire(1).await.unwrap());
        log.at()
    });
    join_all(all).await
}

#[tokio::test(start_paused = true)]
async fn twenty_that_are_told_600_s_come_back_one_by_one_and_at_most_the_limit_in_the_first_second()
{
    for _ in 0..50 {
        let (door, log) = (Door::new("gate", 10), Log::new());
        door.set_longest_pause(Duration::MAX);
        cool_down(&door, 600);
        let mut times = entries(&door, &log, 20).await;
        assert!(times.is_sorted());
        assert!(times[0] >= 600_000 && times[19] < 604_000, "{times:?}");
        assert!(times.iter().filter(|at| **at < 601_000).count() <= 10);
        times.dedup();
        assert_eq!(times.len(), 20);
        advance(ms(1_000)).await;
        assert_free(&door, 10);
    }
}

#[tokio::test(start_paused = true)]
async fn at_a_rate_no_more_than_the_burst_come_back_in_the_first_second() {
    for _ in 0..50 {
        let (door, log) = (Door::without_limit("rate"), Log::new());
        door.set_pace(Some(per_second(50.0).burst(5)));
        door.set_longest_pause(Duration::MAX);
        cool_down(&door, 600);
        let times = entries(&door, &log, 20).await;
        let first = times.iter().filter(|at| **at < 601_000).count();
        assert!(times[0] >= 600_000 && first <= 5, "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_at_the_end_of_it_without_having_waited_is_spaced_too() {
    let (door, log) = (Door::new("gate", 10), Log::new());
    cool_down(&door, 30);
    advance(ms(30_000)).await;
    let mut times = entries(&door, &log, 20).await;
    assert!(times[0] >= 30_000, "{times:?}");
    assert!(times.iter().filter(|at| **at < 31_000).count() <= 10);
    times.dedup();
    assert_eq!(times.len(), 20);
}

#[tokio::test(start_paused = true)]
async fn long_after_it_nobody_waits() {
    let (door, log) = (Door::new("gate", 10), Log::new());
    cool_down(&door, 30);
    advance(ms(31_000)).await;
    assert_eq!(entries(&door, &log, 20).await, [31_000; 20]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_our_own_ends_for_all_at_once() {
    let (door, log) = (Door::new("gate", 20), Log::new());
    door.pause_until((now() + ms(5_000)).into_std());
    assert_eq!(entries(&door, &log, 20).await, [5_000; 20]);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_one_does_not_shorten_it_and_one_that_is_past_does_nothing() {
    let (door, log) = (Door::new("gate", 1), Log::new());
    cool_down(&door, 0);
    assert!(door.try_acquire(1).is_ok());
    cool_down(&door, 30);
    cool_down(&door, 1);
    assert_eq!(door.paused_until(), Some((now() + ms(30_000)).into_std()));
    assert!(entries(&door, &log, 1).await[0] >= 30_000);
}

#[tokio::test(start_paused = true)]
async fn a_wait_as_long_as_the_longest_is_waited_and_a_longer_one_refused_at_once() {
    let minute = ms(60_000);
    let door = Door::new("gate", 1);
    cool_down(&door, 61);
    let refused = door.acquire(1).await.unwrap_err();
    assert_eq!(refused.reason, RefusedReason::Paused { longest: minute });
    assert_eq!(refused.retry_after, Some(ms(61_000)));
    assert_eq!(
        refused.to_string(),
        "refused by gate, nothing was sent: the service asked for quiet, for more than the 60s that \
         anybody waits; try again in 61s"
    );
    advance(ms(1_000)).await;
    let log = Log::new();
    assert!(entries(&door, &log, 1).await[0] >= 60_000);
    advance(ms(2_000)).await;
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_already_are_refused_when_it_is_too_long_for_them() {
    let door = Door::new("gate", 1);
    let inside = door.try_acquire(1).unwrap();
    door.set_max_wait(Some(ms(10_000)));
    let mut in_time = door.acquire(1);
    assert!(poll_once(&mut in_time).is_pending());
    cool_down(&door, 10);
    assert!(poll_once(&mut in_time).is_pending(), "to the moment");

    cool_down(&door, 11);
    let Poll::Ready(Err(refused)) = poll_once(&mut in_time) else {
        panic!("it would wait too long");
    };
    let max_wait = ms(10_000);
    assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    assert_eq!(refused.retry_after, Some(ms(11_000)));

    door.end_pause();
    door.set_max_wait(None);
    let mut patient = door.acquire(1);
    assert!(poll_once(&mut patient).is_pending());
    cool_down(&door, 600);
    let refused = patient.await.unwrap_err();
    let longest = ms(60_000);
    assert_eq!(refused.reason, RefusedReason::Paused { longest });
    assert_eq!(refused.retry_after, Some(ms(600_000)));
    assert_eq!(door.waiting(), 0);
    door.end_pause();
    drop(inside);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_passed_over_does_not_wait_for_too_long_a_pause_either() {
    let door = Door::new("gate", 1);
    let inside = door.try_acquire(1).unwrap();
    let mut parked = door.acquire(1);
    assert!(poll_once(&mut parked).is_pending());
    drop(inside);
    let mut other = door.acquire(1);
    assert!(poll_once(&mut other).is_pending());
    tokio::time::sleep(ms(200)).await;
    cool_down(&door, 600);
    let refused = parked.await.unwrap_err();
    assert_eq!(refused.retry_after, Some(ms(600_000)));
}

#[tokio::test(start_paused = true)]
async fn one_that_may_not_wait_is_told_when_to_come_back() {
    let door = Door::new("gate", 1);
    cool_down(&door, 30);
    let refused = door.try_acquire(1).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::NoRoom);
    assert_eq!(refused.retry_after, Some(ms(30_000)));
}
