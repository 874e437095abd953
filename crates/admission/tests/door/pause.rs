//! Until when nobody enters.

use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::per_second;

use crate::support::{Log, Polls, assert_free, ms, now};

const HOUR: Duration = Duration::from_secs(3_600);

/// Callers that stay inside for 10 ms; says how often each was polled, and when it entered.
fn crowd(door: &Door, callers: usize) -> (Log, Vec<tokio::task::JoinHandle<usize>>) {
    let log = Log::new();
    let callers = (0..callers)
        .map(|_| {
            let (log, acquire) = (log.clone(), Polls::of(door.acquire(1)));
            tokio::spawn(async move {
                let (permit, polls) = acquire.await;
                log.note();
                tokio::time::sleep(ms(10)).await;
                drop(permit);
                polls
            })
        })
        .collect();
    (log, callers)
}

#[tokio::test(start_paused = true)]
async fn after_an_hour_of_pause_those_who_waited_leave_by_pace_and_limit_and_were_not_polled() {
    let door = Door::new("gate", 2);
    door.set_pace(Some(per_second(250.0).burst(4)));
    door.pause_until((now() + HOUR).into_std());
    let (log, callers) = crowd(&door, 10);
    for caller in callers {
        assert!(caller.await.unwrap() <= 3);
    }
    let hour = 3_600_000;
    // Two at a time, each for 10 ms.
    let expected: Vec<u64> = (0..10).map(|caller| hour + caller / 2 * 10).collect();
    assert_eq!(log.times(), expected);
    assert_free(&door, 2);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_in_a_pause_leave_at_the_pace_with_four_wake_ups_each_at_most() {
    let door = Door::new("rate", 1_000);
    door.set_pace(Some(per_second(1_000.0).burst(5)));
    door.pause_until((now() + ms(30_000)).into_std());
    let (log, callers) = crowd(&door, 10_000);
    let mut polls = 0;
    for caller in callers {
        polls += caller.await.unwrap();
    }
    assert!(polls <= 20_002, "{polls}");
    let times = log.times();
    assert_eq!(times[..6], [30_000, 30_000, 30_000, 30_000, 30_000, 30_001]);
    assert_eq!(times[9_999], 30_000 + 9_995);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_extended_and_never_shortened() {
    let door = Door::new("gate", 1);
    let origin = now();
    let pause = |millis| door.pause_until((origin + ms(millis)).into_std());
    pause(100);
    let (log, mut callers) = crowd(&door, 1);
    tokio::time::sleep(ms(50)).await;
    pause(300);
    pause(20);
    assert_eq!(door.paused_until(), Some((origin + ms(300)).into_std()));
    callers.pop().unwrap().await.unwrap();
    assert_eq!(log.times(), [300]);
    assert_eq!(door.paused_until(), None);
}

#[tokio::test(start_paused = true)]
async fn a_pause_can_be_ended_at_once() {
    let door = Door::new("gate", 1);
    door.pause_until((now() + HOUR).into_std());
    assert!(door.try_acquire(1).is_err());
    let (log, mut callers) = crowd(&door, 1);
    tokio::time::sleep(ms(50)).await;
    door.end_pause();
    callers.pop().unwrap().await.unwrap();
    assert_eq!(log.times(), [50]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_in_the_past_or_without_end_is_no_trap() {
    let door = Door::new("gate", 1);
    tokio::time::sleep(ms(50)).await;
    door.pause_until((now() - ms(20)).into_std());
    assert_eq!(door.paused_until(), None);
    drop(door.try_acquire(1).unwrap());
    drop(door.try_acquire(1).unwrap());

    let century = Duration::from_secs(100 * 365 * 86_400);
    door.pause_until((now() + century).into_std());
    let (log, mut callers) = crowd(&door, 1);
    tokio::time::sleep(Duration::from_secs(3 * 365 * 86_400)).await;
    assert_eq!((door.waiting(), log.times()), (1, vec![]));
    door.end_pause();
    callers.pop().unwrap().await.unwrap();
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn who_is_inside_may_stay_during_a_pause() {
    let door = Door::new("gate", 2);
    let inside = door.try_acquire(1).unwrap();
    door.pause_until((now() + ms(100)).into_std());
    assert!(door.try_acquire(1).is_err());
    drop(inside);
    let log = Log::new();
    drop(door.acquire(1).await.unwrap());
    assert_eq!(log.at(), 100);
    assert_free(&door, 2);
}
