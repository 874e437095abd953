//! Threads that park, and no runtime at all. Real time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::{RefusedReason, Start, per_hour, per_minute, per_second};
use tokio::runtime::Builder;

use crate::support::{assert_free, block_on, ms, now, poll_once, with_time_enough};

#[test]
fn threads_share_a_limit() {
    let door = Door::new("gate", 2);
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let permit = door.acquire_blocking(1, None).unwrap();
                    most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(most.into_inner(), 2);
    assert_free(&door, 2);
}

#[test]
fn a_thread_that_did_not_get_in_in_time_leaves_no_trace() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    for millis in [0, 20] {
        let from = now();
        let max_wait = ms(millis);
        let refused = door.acquire_blocking(1, Some(max_wait)).unwrap_err();
        let reason = match millis {
            0 => RefusedReason::WaitTooLong { max_wait },
            _ => RefusedReason::WaitedTooLong { max_wait },
        };
        assert_eq!(refused.reason, reason);
        assert!(now() - from >= max_wait);
    }
    assert_eq!(door.waiting(), 0);
    drop(held);
    drop(door.acquire_blocking(1, Some(Duration::MAX)).unwrap());
    assert_free(&door, 1);
}

#[test]
fn threads_alone_keep_the_time_of_a_pace_and_a_pause() {
    let door = Door::new("rate", 4);
    door.set_pace(Some(per_second(100.0)));
    let origin = now();
    door.pause_until((origin + ms(30)).into_std());
    let mut times: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    drop(door.acquire_blocking(1, None).unwrap());
                    now() - origin
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    times.sort();
    for (turn, &at) in times.iter().enumerate() {
        let due = ms(30 + turn as u64 * 10);
        // Two milliseconds: a late one counts as on time.
        assert!(at + ms(2) >= due, "{turn}: {at:?}");
    }
    assert!(times[5] < ms(20_000), "{times:?}");
    assert_free(&door, 4);
}

#[test]
fn threads_and_tasks_stand_in_one_queue() {
    let door = Door::new("rate", 3);
    door.set_pace(Some(per_second(200.0)));
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let entered = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let (door, entered) = (door.clone(), Arc::clone(&entered));
            runtime.spawn(async move {
                drop(door.acquire(1).await.unwrap());
                entered.fetch_add(1, SeqCst);
            })
        })
        .collect();
    std::thread::scope(|scope| {
        for timeout in [None, Some(ms(5)), Some(ms(5_000)), None] {
            let (door, entered) = (&door, &entered);
            scope.spawn(move || {
                for _ in 0..3 {
                    let outcome = door.acquire_blocking(1, timeout);
                    assert!(outcome.is_ok() || timeout == Some(ms(5)));
                    entered.fetch_add(usize::from(timeout != Some(ms(5))), SeqCst);
                }
            });
        }
    });
    for one in tasks {
        runtime.block_on(one).unwrap();
    }
    assert_eq!(entered.load(SeqCst), 19);
    assert_free(&door, 3);
}

/// A thread keeps the time first. A task of a runtime relies on it. Whether it was seen to wait.
fn thread_leaves_a_task_behind(door: &Door, leaves: impl FnOnce() -> bool + Send) -> bool {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(leaves);
        if !waits(door, &thread) {
            return false;
        }
        let entered = runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(20), door.acquire(1)).await
        });
        drop(entered.expect("somebody keeps the time").unwrap());
        thread.join().unwrap()
    })
}

/// Once somebody waits; not if the thread is over before that was seen.
fn waits<T>(door: &Door, thread: &ScopedJoinHandle<'_, T>) -> bool {
    while door.waiting() == 0 {
        if thread.is_finished() {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// A thread that would be served before its time is over; then the pace is so slow that it is not.
fn gives_up(door: &Door, longer: u32) -> bool {
    std::thread::scope(|scope| {
        let max_wait = longer * ms(300);
        let thread = scope.spawn(move || door.acquire_blocking(1, Some(max_wait)).map(drop));
        waits(door, &thread) && {
            door.set_pace(Some(per_second(1.0 / f64::from(longer))));
            thread.join().unwrap().is_err()
        }
    })
}

#[test]
fn a_thread_that_cannot_be_served_in_time_is_refused_at_once_and_told_when_to_come_again() {
    let door = Door::new("rate", 1);
    door.set_pace(Some(per_minute(1.0).start(Start::Empty)));
    let from = now();
    let max_wait = ms(30_000);
    let refused = door.acquire_blocking(1, Some(max_wait)).unwrap_err();
    assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    assert!((ms(59_000)..=ms(60_000)).contains(&refused.retry_after.unwrap()));
    door.set_pace(None);
    door.pause_until((from + ms(60_000)).into_std());
    // The shorter of the two waits is the one that is told.
    for (own, of_the_door) in [(5_000, 7_000), (7_000, 5_000)] {
        door.set_max_wait(Some(ms(of_the_door)));
        let refused = door.acquire_blocking(1, Some(ms(own))).unwrap_err();
        let max_wait = ms(5_000);
        assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
        assert!(refused.retry_after.unwrap() > ms(30_000));
    }
    assert!(now() - from < ms(20_000));
    assert_eq!(door.waiting(), 0);
    door.end_pause();
    assert_free(&door, 1);
}

fn empty_bucket(rate: f64, longer: u32) -> Door {
    let door = Door::new("rate", 1);
    door.set_pace(Some(
        per_second(rate / f64::from(longer)).start(Start::Empty),
    ));
    door
}

#[test]
fn a_thread_that_gives_up_hands_over_the_time_to_a_task() {
    with_time_enough(|longer| {
        let door = empty_bucket(4.0, longer);
        let got_there = thread_leaves_a_task_behind(&door, || gives_up(&door, longer));
        assert_free(&door, 1);
        got_there
    });
}

#[test]
fn a_thread_that_is_served_hands_over_the_time_to_a_task() {
    with_time_enough(|longer| {
        let door = empty_bucket(20.0, longer);
        let got_there = thread_leaves_a_task_behind(&door, || {
            drop(door.acquire_blocking(1, None).unwrap());
            true
        });
        assert_free(&door, 1);
        got_there
    });
}

#[test]
fn a_thread_that_gives_up_hands_over_the_time_to_another_thread() {
    with_time_enough(|longer| {
        let door = empty_bucket(4.0, longer);
        let got_there = std::thread::scope(|scope| {
            let first = scope.spawn(|| gives_up(&door, longer));
            if !waits(&door, &first) {
                return false;
            }
            let second = scope.spawn(|| door.acquire_blocking(1, Some(ms(20_000))).map(drop));
            let gave_up = first.join().unwrap();
            second.join().unwrap().unwrap();
            gave_up
        });
        assert_free(&door, 1);
        got_there
    });
}

#[test]
fn a_limit_needs_no_runtime() {
    let door = Door::new("gate", 2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let _permit = block_on(door.acquire(1)).unwrap();
                    std::thread::yield_now();
                }
            });
        }
    });
    assert_free(&door, 2);
}

#[test]
fn time_without_a_runtime_panics_with_a_reason_and_leaves_no_trace() {
    let door = Door::new("rate", 2);
    let reason = "waiting for a pace, a pause or a longest wait needs a tokio runtime";
    let assert_panics = || {
        let mut acquire = door.acquire(1);
        let raised = catch_unwind(AssertUnwindSafe(|| poll_once(&mut acquire))).unwrap_err();
        assert!(raised.downcast_ref::<&str>().unwrap().starts_with(reason));
        drop(acquire);
        assert_eq!((door.waiting(), door.in_flight()), (0, 0));
    };
    door.set_pace(Some(per_hour(1.0).start(Start::Empty)));
    assert_panics();
    // As does a runtime without timers.
    let runtime = Builder::new_current_thread().build().unwrap();
    let context = runtime.enter();
    assert_panics();
    drop(context);

    door.set_pace(None);
    door.pause_until((now() + ms(100_000)).into_std());
    assert_panics();
    door.end_pause();
    assert_free(&door, 2);

    door.set_max_wait(Some(ms(100_000)));
    let held: Vec<_> = (0..2).map(|_| door.try_acquire(1).unwrap()).collect();
    let mut acquire = door.acquire(1);
    catch_unwind(AssertUnwindSafe(|| poll_once(&mut acquire))).unwrap_err();
    drop((acquire, held));
    assert_free(&door, 2);
}

#[test]
fn one_who_enters_without_a_runtime_does_not_panic_for_those_who_wait() {
    let door = Door::new("gate", 1);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let context = runtime.enter();
    let held = door.try_acquire(1).unwrap();
    let mut first = door.acquire(1);
    let mut second = door.acquire(1);
    assert!(poll_once(&mut first).is_pending());
    assert!(poll_once(&mut second).is_pending());
    drop(held);
    door.set_pace(Some(per_second(1.0).start(Start::Empty)));
    drop(context);
    drop(runtime);
    // The first was granted before there was a pace.
    drop(poll_once(&mut first));
    drop((first, second));
    door.set_pace(None);
    assert_free(&door, 1);
}

#[test]
fn a_permit_may_be_dropped_on_a_plain_thread() {
    let door = Door::new("gate", 1);
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let held = door.acquire(1).await.unwrap();
        let waits = tokio::spawn({
            let door = door.clone();
            async move { door.acquire(1).await.map(drop) }
        });
        tokio::task::yield_now().await;
        std::thread::spawn(move || drop(held)).join().unwrap();
        waits.await.unwrap().unwrap();
    });
    drop(runtime);
    assert_free(&door, 1);
}
