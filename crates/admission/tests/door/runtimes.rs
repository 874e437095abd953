//! Several runtimes, and their ends. Real time.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::{Start, per_second};
use tokio::runtime::{Builder, Runtime};

use crate::support::{assert_free, ms, poll_once, with_time_enough};

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn one_worker() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap()
}

fn empty_bucket(rate: f64) -> Door {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(rate).start(Start::Empty)));
    door
}

async fn served(door: &Door) {
    let entered = tokio::time::timeout(Duration::from_secs(20), door.acquire(1)).await;
    drop(entered.expect("somebody keeps the time").unwrap());
}

/// `first` arms the timer, and is dropped while `second` waits.
fn timer_goes_with_its_runtime(first: Runtime, second: &Runtime, longer: u32) -> bool {
    let door = empty_bucket(10.0 / f64::from(longer));
    let mut armed = door.acquire(1);
    {
        let _context = first.enter();
        if poll_once(&mut armed).is_ready() {
            return false;
        }
    }
    let waits = second.spawn({
        let door = door.clone();
        async move { served(&door).await }
    });
    while door.waiting() < 2 {
        if door.in_flight() > 0 {
            return false;
        }
        std::thread::yield_now();
    }
    drop(first);
    second.block_on(waits).unwrap();
    drop(armed);
    assert_free(&door, 10);
    true
}

#[test]
fn one_who_waits_is_served_after_the_runtime_that_kept_the_time_is_gone() {
    for first in [one_thread, one_worker] {
        with_time_enough(|longer| timer_goes_with_its_runtime(first(), &one_worker(), longer));
    }
}

#[test]
fn a_runtime_that_ends_while_a_door_waits_does_not_panic() {
    let panics = Arc::new(AtomicUsize::new(0));
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new({
        let panics = Arc::clone(&panics);
        move |info| {
            if std::thread::current().name() == Some("ends with a door") {
                panics.fetch_add(1, SeqCst);
            }
            before(info);
        }
    }));
    for current in [true, false] {
        std::thread::Builder::new()
            .name("ends with a door".into())
            .spawn(move || {
                let door = empty_bucket(0.001);
                let runtime = if current {
                    one_thread()
                } else {
                    Builder::new_multi_thread()
                        .worker_threads(1)
                        .thread_name("ends with a door")
                        .enable_time()
                        .build()
                        .unwrap()
                };
                let mut wait = door.acquire(1);
                {
                    let _context = runtime.enter();
                    assert!(poll_once(&mut wait).is_pending());
                }
                drop(runtime);
                // A plain thread moves what the timer waits for.
                door.set_pace(Some(per_second(2.0)));
                drop(wait);
                assert_free(&door, 10);
            })
            .unwrap()
            .join()
            .unwrap();
    }
    assert_eq!(panics.load(SeqCst), 0);
}

/// Each thread has a runtime of its own, drives it only while it waits, and does other things
/// afterwards.
#[test]
fn one_who_waits_is_served_though_the_runtime_that_kept_the_time_is_not_driven_any_more() {
    with_time_enough(|longer| first_is_not_driven_any_more(20.0 / f64::from(longer)));
}

fn first_is_not_driven_any_more(rate: f64) -> bool {
    let door = empty_bucket(rate);
    let (first_is_served, wait_for_first) = mpsc::channel();
    let (done, wait_for_done) = mpsc::channel::<()>();
    let got_there = std::thread::scope(|scope| {
        let first = door.clone();
        scope.spawn(move || {
            let runtime = one_thread();
            runtime.block_on(served(&first));
            first_is_served.send(()).unwrap();
            // It is not dropped, and nobody drives it.
            let _ = wait_for_done.recv_timeout(Duration::from_secs(40));
            drop(runtime);
        });
        while door.waiting() == 0 {
            if wait_for_first.try_recv().is_ok() {
                done.send(()).unwrap();
                return false;
            }
            std::thread::yield_now();
        }
        one_thread().block_on(served(&door));
        wait_for_first.recv().unwrap();
        done.send(()).unwrap();
        true
    });
    assert_free(&door, 10);
    got_there
}

#[test]
fn many_threads_with_a_runtime_each_are_all_served() {
    let door = empty_bucket(500.0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let runtime = one_thread();
                for _ in 0..10 {
                    runtime.block_on(served(&door));
                    std::thread::sleep(ms(1));
                }
                let mut gives_up = pin!(door.acquire(1));
                runtime.block_on(async {
                    let _ = tokio::time::timeout(ms(1), &mut gives_up).await;
                });
            });
        }
    });
    assert_free(&door, 10);
}

#[test]
fn a_runtime_shut_down_with_waiters_in_it_frees_their_places_in_the_queue() {
    let door = empty_bucket(0.001);
    let runtime = one_worker();
    for _ in 0..100 {
        let door = door.clone();
        runtime.spawn(async move { door.acquire(1).await.map(drop) });
    }
    while door.waiting() < 100 {
        std::thread::yield_now();
    }
    runtime.shutdown_timeout(Duration::from_secs(1));
    assert_eq!(door.waiting(), 0);
    door.set_pace(None);
    assert_free(&door, 10);
}

#[test]
fn a_wait_moved_from_one_runtime_to_another_goes_on() {
    with_time_enough(|longer| {
        let (first, second) = (one_thread(), one_thread());
        let door = empty_bucket(20.0 / f64::from(longer));
        let mut wait = Box::pin(door.acquire(1));
        let polled =
            first.block_on(async { wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) });
        if polled.is_ready() {
            return false;
        }
        let entered =
            second.block_on(async { tokio::time::timeout(Duration::from_secs(20), wait).await });
        drop(entered.expect("somebody keeps the time").unwrap());
        drop((first, second));
        assert_free(&door, 10);
        true
    });
}

/// Runtimes come and go, with whoever waits in them; threads wait too.
#[test]
fn runtimes_that_come_and_go_leave_nobody_behind() {
    let door = empty_bucket(2_000.0);
    std::thread::scope(|scope| {
        for number in 0..6_usize {
            let door = &door;
            scope.spawn(move || {
                for round in 0..300 {
                    match (number + round) % 6 {
                        // Dropped while others wait in it.
                        0 => {
                            let runtime = one_worker();
                            for _ in 0..5 {
                                let door = door.clone();
                                runtime.spawn(async move { door.acquire(1).await.map(drop) });
                            }
                            runtime.block_on(served(door));
                        }
                        // Kept, and not driven any more, with one parked in it.
                        1 => {
                            let runtime = one_thread();
                            let mut parked = door.acquire(1);
                            {
                                let _context = runtime.enter();
                                let _ = poll_once(&mut parked);
                            }
                            runtime.block_on(served(door));
                            std::thread::sleep(ms(3));
                        }
                        2 => drop(door.acquire_blocking(1, None).unwrap()),
                        3 => drop(door.acquire_blocking(1, Some(ms(1)))),
                        4 => {
                            let runtime = one_thread();
                            runtime.block_on(async {
                                let _ = tokio::time::timeout(ms(1), door.acquire(2)).await;
                            });
                        }
                        _ => one_thread().block_on(served(door)),
                    }
                }
            });
        }
    });
    // A cost of 2 may have left a debt of half a millisecond.
    door.set_pace(None);
    assert_free(&door, 10);
}
