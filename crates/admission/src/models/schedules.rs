//! Thousands of random schedules of more threads than can be enumerated: shuttle.

use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::{self, JoinHandle};
use shuttle::{Config, Runner};
use tidegate_core::{Pace, Start, per};

use super::shell::{Inside, Shell};
use crate::primitives::Shuttle;
use crate::refusal::Why;

type Door = Arc<Shell<Shuttle>>;

const SEED: u64 = 20_260_404;
/// Ticks, in nanoseconds, of those that are granted and do not come.
const TICK: u64 = 50_000_000;

/// Runs `model` under so many schedules, half of them with few preemptions at the worst moments.
fn check(schedules: usize, model: impl Fn() + Copy + Send + Sync + 'static) {
    let mut config = Config::new();
    config.silence_warnings = true;
    let random = RandomScheduler::new_from_seed(SEED, schedules / 2);
    Runner::new(random, config.clone()).run(model);
    let adverse = PctScheduler::new_from_seed(SEED, 4, schedules / 2);
    Runner::new(adverse, config).run(model);
}

fn spawn<T: Send + 'static>(
    door: &Door,
    run: impl FnOnce(&Door) -> T + Send + 'static,
) -> JoinHandle<T> {
    let door = Arc::clone(door);
    thread::spawn(move || run(&door))
}

fn enter(door: &Door) -> Inside<Shuttle> {
    block_on(door.acquire(1)).expect("it is open")
}

fn join<T>(threads: impl IntoIterator<Item = JoinHandle<T>>) -> Vec<T> {
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect()
}

#[test]
fn a_crowd_that_waits_parks_tries_and_gives_up_shares_two_places() {
    check(4_000, || {
        let door = Shell::new(2);
        let tasks = [(); 3].map(|()| {
            spawn(&door, |door| {
                drop(enter(door));
                drop(enter(door));
            })
        });
        let parked = spawn(&door, |door| {
            drop(block_on(door.acquire_blocking(1)).unwrap());
        });
        let fickle = [1, 2].map(|polls| {
            spawn(&door, move |door| {
                let mut wait = door.acquire(1);
                drop((0..polls).find_map(|_| wait.poll_once()));
            })
        });
        let tries = spawn(&door, |door| drop(door.try_acquire(1)));
        join(tasks.into_iter().chain(fickle).chain([parked, tries]));
        door.assert_free(2);
    });
}

#[test]
fn limits_that_are_moved_by_two_at_once_let_everybody_in() {
    check(4_000, || {
        let door = Shell::resized(1, 4, 0);
        let waits = [(); 4].map(|()| spawn(&door, |door| drop(enter(door))));
        let movers = [(); 2].map(|()| {
            spawn(&door, |door| {
                for _ in 0..3 {
                    door.set_limit(thread_rng().gen_range(1..=4));
                }
            })
        });
        join(waits.into_iter().chain(movers));
        door.set_limit(3);
        door.assert_free(3);
    });
}

#[test]
fn a_granted_one_that_nobody_polls_is_passed_over_and_is_served_when_it_is_polled() {
    check(2_000, || {
        let door = Shell::new(1);
        let held = door.try_acquire(1).unwrap();
        let mut parked = door.acquire(1);
        assert!(parked.poll_once().is_none());
        let others = [(); 3].map(|()| spawn(&door, |door| drop(enter(door))));
        let leaves = thread::spawn(move || drop(held));
        let time = spawn(&door, |door| {
            for tick in 1.. {
                door.jump(tick * TICK);
                door.fire();
                if door.entered() == 4 {
                    return tick;
                }
                thread::yield_now();
            }
            unreachable!()
        });
        join(others);
        leaves.join().unwrap();
        assert!(time.join().unwrap() >= 3);
        drop(parked.poll_once().expect("it is the first again"));
        door.assert_free(1);
    });
}

#[test]
fn time_that_flies_passes_over_whom_it_likes_and_loses_nobody() {
    check(4_000, || {
        let door = Shell::timed(1, 100 * TICK);
        let waits = [(); 4].map(|()| spawn(&door, |door| drop(enter(door))));
        let fickle = spawn(&door, |door| {
            let mut wait = door.acquire(1);
            drop((0..2).find_map(|_| wait.poll_once()));
        });
        join(waits.into_iter().chain([fickle]));
        door.assert_free(1);
    });
}

#[test]
fn a_wait_that_runs_out_ends_in_a_refusal_or_inside() {
    check(3_000, || {
        let door = Shell::new(1);
        door.admission.with_queue(|queue| queue.max_wait = 10);
        let held = door.try_acquire(1);
        let waits = [(); 4].map(|()| {
            spawn(&door, |door| match block_on(door.acquire(1)) {
                Ok(inside) => drop(inside),
                Err(refusal) => assert_eq!(refusal.why, Why::WaitedTooLong),
            })
        });
        let time = spawn(&door, |door| {
            for now in [5, 10, 15, 20] {
                door.jump(now);
                door.fire();
            }
        });
        drop(held);
        join(waits.into_iter().chain([time]));
        door.assert_free(1);
    });
}

#[test]
fn a_pause_that_is_extended_and_ended_lets_everybody_in() {
    check(3_000, || {
        let door = Shell::timed(2, 1_000);
        let resumed = Arc::new(AtomicUsize::new(0));
        door.pause_until(100);
        let waits = [(); 3].map(|()| {
            let resumed = Arc::clone(&resumed);
            spawn(&door, move |door| {
                drop(enter(door));
                assert!(door.now() >= 100 || resumed.load(SeqCst) == 1);
            })
        });
        let longer = spawn(&door, |door| door.pause_until(300));
        let ends = spawn(&door, move |door| {
            resumed.store(1, SeqCst);
            door.end_pause();
        });
        join(waits.into_iter().chain([longer, ends]));
        door.jump(1_000);
        door.fire();
        drop(enter(&door));
        door.assert_free(2);
    });
}

#[test]
fn a_drain_ends_when_the_last_one_left_and_nobody_enters_after_it() {
    check(3_000, || {
        let door = Shell::new(2);
        let inside = [(); 2].map(|()| door.try_acquire(1).unwrap());
        let leaves = inside.map(|inside| thread::spawn(move || drop(inside)));
        let waits = [(); 2].map(|()| {
            spawn(&door, |door| {
                if let Err(refusal) = block_on(door.acquire(1)) {
                    assert_eq!(refusal.why, Why::Closed);
                }
            })
        });
        door.close();
        block_on(poll_fn(|context| {
            door.admission.poll_drained(context.waker())
        }));
        assert_eq!((door.admission.word().in_flight(), door.waiting()), (0, 0));
        join(leaves.into_iter().chain(waits));
        assert!(door.try_acquire(1).is_none());
    });
}

/// One token each 10, none to begin with.
fn slow(burst: u32) -> Pace {
    per(1.0, Duration::from_nanos(10))
        .burst(burst)
        .start(Start::Empty)
}

#[test]
fn tokens_and_places_are_taken_together_and_no_window_holds_more_than_the_pace() {
    check(4_000, || {
        let door = Shell::timed(2, 10_000);
        door.set_pace(slow(2));
        let sends = Arc::new(Mutex::new(Vec::new()));
        let waits = [1, 2, 1, 3].map(|cost| {
            let sends = Arc::clone(&sends);
            spawn(&door, move |door| {
                let inside = block_on(door.acquire(cost)).unwrap();
                assert_eq!(inside.entry.tokens, cost);
                sends.lock().unwrap().push((door.now(), cost));
            })
        });
        let fickle = spawn(&door, |door| {
            let mut wait = door.acquire(2);
            if let Some(Ok(inside)) = (0..2).find_map(|_| wait.poll_once()) {
                inside.give_back();
            }
        });
        join(waits.into_iter().chain([fickle]));
        // Seven tokens, of which three were a cost above the burst: a debt of one may be left.
        let last = sends.lock().unwrap().iter().map(|&(at, _)| at).max();
        assert!(last >= Some(60), "seven tokens by {last:?}");
        door.assert_free(2);
    });
}

#[test]
fn a_pace_that_is_changed_under_those_who_wait_lets_them_all_in() {
    check(3_000, || {
        let door = Shell::timed(3, 100_000);
        door.set_pace(slow(1));
        let waits = [(); 3].map(|()| spawn(&door, |door| drop(enter(door))));
        let faster = spawn(&door, |door| {
            door.set_pace(per(1.0, Duration::from_micros(1)));
            door.set_pace(per(1.0, Duration::from_nanos(1)).burst(3));
        });
        join(waits.into_iter().chain([faster]));
        door.assert_free(3);
    });
}

#[test]
fn leases_that_run_out_free_each_place_once() {
    check(3_000, || {
        let door = Shell::resized(2, 4, 1_000);
        let leases = [10, 20].map(|at| {
            let mut inside = door.try_acquire(1).unwrap();
            inside.expire_at(at);
            thread::spawn(move || drop(inside))
        });
        let waits = [(); 3].map(|()| spawn(&door, |door| drop(enter(door))));
        let lowers = spawn(&door, |door| door.set_limit(1));
        join(leases.into_iter().chain(waits).chain([lowers]));
        door.assert_free(1);
    });
}
