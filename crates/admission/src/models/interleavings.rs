//! Every interleaving of two or three threads, up to so many preemptions, with the weak memory of
//! the orderings that are shipped: loom.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Count;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use loom::future::block_on;
use loom::sync::atomic::AtomicUsize;
use loom::thread::{self, JoinHandle};
use tidegate_core::{Pace, Start, per};

use super::shell::{Inside, Shell, Wait};
use crate::primitives::Loom;
use crate::refusal::Why;

type Door = Arc<Shell<Loom>>;

const ALL: Option<usize> = None;

/// Runs `model` in every interleaving with at most so many preemptions.
fn check(
    name: &str,
    preemptions: impl Into<Option<usize>>,
    model: impl Fn() + Sync + Send + 'static,
) {
    let runs = Arc::new(Count::new(0));
    let counted = Arc::clone(&runs);
    let mut loom = loom::model::Builder::new();
    loom.preemption_bound = preemptions.into();
    loom.check(move || {
        counted.fetch_add(1, Relaxed);
        model();
    });
    println!("{name}: {} interleavings", runs.load(Relaxed));
}

fn spawn(door: &Door, run: impl FnOnce(&Door) + 'static) -> JoinHandle<()> {
    let door = Arc::clone(door);
    thread::spawn(move || run(&door))
}

/// The first thread of a model only starts the others and waits for them: what it does itself while
/// they run is not interleaved in every way.
fn join<const N: usize>(threads: [JoinHandle<()>; N]) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn enter(door: &Door) -> Inside<Loom> {
    block_on(door.acquire(1)).expect("it is open")
}

/// Data that only the holder of the one permit touches. It is not synchronised: an update is lost
/// if a holder does not see what the one before it wrote.
#[derive(Clone)]
struct Guarded(Arc<AtomicUsize>);

impl Guarded {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    fn both() -> (Self, Self) {
        let data = Self::new();
        (data.clone(), data)
    }

    fn touch(&self, _inside: &Inside<Loom>) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }

    fn touched(&self) -> usize {
        self.0.load(Relaxed)
    }
}

#[test]
fn a_place_goes_from_hand_to_hand_with_what_was_written_under_it() {
    check("hand to hand, two", ALL, hand_to_hand::<2>);
    check("hand to hand, three", 2, hand_to_hand::<3>);
}

fn hand_to_hand<const N: usize>() {
    let door = Shell::new(1);
    let data = Guarded::new();
    join([(); N].map(|()| {
        let data = data.clone();
        spawn(&door, move |door| data.touch(&enter(door)))
    }));
    assert_eq!(data.touched(), N);
    door.assert_free(1);
}

/// One inside and three that wait, where nothing but a limit is in play.
fn calm(door: &Door) -> (Inside<Loom>, [Wait<Loom>; 3]) {
    let held = door.try_acquire(1).unwrap();
    let [mut first, others @ ..] = [(); 4].map(|()| {
        let mut wait = door.acquire(1);
        assert!(wait.poll_once().is_none());
        wait
    });
    drop(held);
    let inside = first.poll_once().expect("its turn").expect("it is open");
    assert!(door.admission.with_queue(|queue| queue.calm));
    (inside, others)
}

#[test]
fn in_a_calm_queue_a_place_goes_from_hand_to_hand_with_what_was_written_under_it() {
    check("calm, hand to hand", 3, || {
        let door = Shell::new(1);
        let (data, next) = Guarded::both();
        let (held, [waits, gives_up, stays]) = calm(&door);
        let both = data.clone();
        join([
            spawn(&door, move |_| {
                data.touch(&held);
                drop(held);
            }),
            spawn(&door, move |_| {
                next.touch(&block_on(waits).expect("it is open"));
            }),
            spawn(&door, move |_| drop(gives_up)),
        ]);
        assert_eq!(both.touched(), 2);
        drop(stays);
        door.assert_free(1);
    });
}

#[test]
fn a_limit_that_is_raised_while_a_place_is_handed_over_lets_in_both() {
    check("calm, raised", ALL, || {
        let door = Shell::resized(1, 2, 0);
        let (held, mut waits) = calm(&door);
        join([
            spawn(&door, move |_| drop(held)),
            spawn(&door, |door| door.set_limit(2)),
        ]);
        let inside = waits.each_mut().map(Wait::poll_once);
        assert_eq!(inside.map(|one| one.is_some()), [true, true, false]);
        drop(waits);
        door.assert_free(2);
    });
}

#[test]
fn what_was_written_is_seen_by_one_who_enters_without_the_lock_while_settings_move() {
    check("fast visibility", 3, || {
        let door = Shell::resized(1, 2, 0);
        let (data, seen) = Guarded::both();
        let held = door.try_acquire(1).unwrap();
        join([
            spawn(&door, |door| door.set_limit(1)),
            spawn(&door, move |_| {
                data.touch(&held);
                drop(held);
            }),
            spawn(&door, move |door| {
                if let Some(entry) = door.admission.try_enter(1, || 0) {
                    assert_eq!(seen.touched(), 1);
                    door.leave(entry);
                }
            }),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_place_granted_to_one_who_gives_up_goes_to_the_next() {
    check("grant and cancel", 3, || {
        let door = Shell::new(1);
        let held = door.try_acquire(1).unwrap();
        let mut fickle = door.acquire(1);
        assert!(fickle.poll_once().is_none());
        join([
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, move |_| drop(held)),
            spawn(&door, move |_| drop(fickle)),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn one_who_comes_for_its_place_or_gives_up_loses_none() {
    check("claim and cancel", 2, || {
        let door = Shell::new(1);
        let held = door.try_acquire(1).unwrap();
        join([
            spawn(&door, |door| {
                let mut fickle = door.acquire(1);
                let first = fickle.poll_once();
                drop(first.or_else(|| fickle.poll_once()));
            }),
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, move |_| drop(held)),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_raised_limit_lets_in_one_who_comes_at_that_moment() {
    check("raise", ALL, || {
        let door = Shell::resized(1, 2, 0);
        let held = door.try_acquire(1).unwrap();
        join([
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |door| door.set_limit(2)),
        ]);
        drop(held);
        door.assert_free(2);
    });
}

#[test]
fn a_raised_limit_lets_in_one_who_waits() {
    check("raise while one waits", ALL, || {
        let door = Shell::resized(1, 2, 0);
        let held = door.try_acquire(1).unwrap();
        let mut waits = door.acquire(1);
        assert!(waits.poll_once().is_none());
        join([
            spawn(&door, |door| door.set_limit(2)),
            spawn(&door, |_| drop(block_on(waits).unwrap())),
        ]);
        drop(held);
        door.assert_free(2);
    });
}

#[test]
fn a_limit_that_falls_and_rises_is_the_last_one_set() {
    check("fall and rise", 2, || {
        let door = Shell::resized(2, 2, 0);
        let held = door.try_acquire(1).unwrap();
        join([
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |door| {
                door.set_limit(1);
                drop(held);
                door.set_limit(2);
            }),
        ]);
        door.assert_free(2);
    });
}

fn drain(door: &Door) {
    door.close();
    block_on(poll_fn(|context| {
        door.admission.poll_drained(context.waker())
    }));
    assert_eq!(door.admission.word().in_flight(), 0);
}

#[test]
fn a_close_ends_every_wait_and_the_last_one_out_ends_the_drain() {
    check("close and drain", 2, || {
        let door = Shell::new(1);
        let held = door.try_acquire(1).unwrap();
        let (data, seen) = Guarded::both();
        join([
            spawn(&door, |door| match block_on(door.acquire(1)) {
                Ok(inside) => drop(inside),
                Err(refusal) => assert_eq!(refusal.why, Why::Closed),
            }),
            spawn(&door, move |_| {
                data.touch(&held);
                drop(held);
            }),
            spawn(&door, move |door| {
                drain(door);
                assert_eq!(seen.touched(), 1);
            }),
        ]);
        assert!(door.try_acquire(1).is_none());
        assert_eq!(door.waiting(), 0);
    });
}

/// One token each 100, none to begin with.
fn empty_bucket(burst: u32) -> Pace {
    pace(100, burst).start(Start::Empty)
}

fn pace(period: u64, burst: u32) -> Pace {
    per(1.0, Duration::from_nanos(period)).burst(burst)
}

#[test]
fn a_drain_ends_though_one_took_a_place_for_a_moment_and_found_no_token() {
    check("drain and undo", ALL, || {
        let door = Shell::new(1);
        door.set_pace(empty_bucket(1));
        join([
            spawn(&door, |door| assert!(door.try_acquire(1).is_none())),
            spawn(&door, drain),
        ]);
    });
}

#[test]
fn a_place_taken_for_a_moment_without_a_token_delays_nobody() {
    check("undo and enqueue", 3, || {
        let door = Shell::timed(1, 1_000);
        door.set_pace(empty_bucket(1));
        join([
            spawn(&door, |door| drop(door.try_acquire(1))),
            spawn(&door, |door| assert_eq!(enter(door).entry.tokens, 1)),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_place_taken_for_a_moment_while_the_pace_is_lifted_delays_nobody() {
    check("undo and lift", 2, || {
        let door = Shell::new(1);
        door.set_pace(empty_bucket(1));
        join([
            spawn(&door, |door| drop(door.try_acquire(1))),
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |door| door.lift_pace()),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_token_is_taken_once() {
    check("one token", ALL, || {
        let door = Shell::new(2);
        door.set_pace(pace(100, 1));
        join([(); 2].map(|()| {
            spawn(&door, |door| {
                if let Some(inside) = door.try_acquire(1) {
                    std::mem::forget(inside);
                }
            })
        }));
        assert_eq!(door.admission.word().in_flight(), 1);
        assert_eq!(door.due(1), 100);
    });
}

#[test]
fn without_a_limit_a_token_is_taken_once_and_nobody_is_counted() {
    check("no limit, one token", ALL, || {
        let door = Shell::uncounted(0);
        door.set_pace(pace(100, 1));
        join([(); 2].map(|()| spawn(&door, |door| drop(door.try_acquire(1)))));
        assert_eq!((door.entered(), door.due(1)), (1, 100));
        assert_eq!(door.admission.word().in_flight(), 0);
    });
}

#[test]
fn without_a_limit_those_who_wait_enter_one_for_each_token() {
    check("no limit, waits", 3, || {
        let door = Shell::uncounted(u64::MAX);
        door.set_pace(pace(100, 1));
        join([(); 2].map(|()| spawn(&door, |door| drop(enter(door)))));
        assert_eq!((door.entered(), door.due(1), door.waiting()), (2, 200, 0));
        assert_eq!(door.admission.word().in_flight(), 0);
        assert!(!door.admission.word().is_slow());
    });
}

#[test]
fn a_change_of_pace_is_seen_whole_or_not_at_all() {
    // A full bucket of the first pace looks the same as a full one of the second.
    check("pace change", 3, || {
        let door = Shell::new(1);
        door.set_pace(pace(100, 2));
        join([
            spawn(&door, |door| {
                let entry = door.admission.try_enter(2, || 0);
                assert!(entry.is_some() || door.try_acquire(2).is_some());
            }),
            spawn(&door, |door| door.set_pace(pace(1_000, 2))),
        ]);
        // Two tokens were taken of two, before or after: one is there after one period.
        assert_eq!(door.due(1), 1_000);
    });
}

#[test]
fn a_pace_that_begins_is_seen_whole_or_not_at_all() {
    check("pace begins", ALL, || {
        let door = Shell::new(1);
        join([
            spawn(&door, |door| {
                let entry = door.admission.try_enter(3, || 0).unwrap();
                let due = if entry.tokens == 0 { 0 } else { 300 };
                assert!(entry.tokens == 0 || entry.tokens == 3);
                assert_eq!(door.due(2), due);
            }),
            spawn(&door, |door| door.set_pace(pace(100, 2))),
        ]);
    });
}

#[test]
fn one_who_is_passed_over_while_it_comes_still_enters() {
    check("pass over and claim", 2, || {
        let door = Shell::new(1);
        let held = door.try_acquire(1).unwrap();
        let mut slow = door.acquire(1);
        assert!(slow.poll_once().is_none());
        let mut next = door.acquire(1);
        assert!(next.poll_once().is_none());
        drop(held);
        for tick in 1..3 {
            door.jump(tick * 50_000_000);
            door.fire();
        }
        join([
            spawn(&door, |_| drop(block_on(next).unwrap())),
            spawn(&door, |door| {
                door.jump(150_000_000);
                door.fire();
            }),
            spawn(&door, |_| drop(block_on(slow).unwrap())),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn one_who_waited_too_long_is_refused_or_enters_and_never_both() {
    check("expiry and grant", 3, || {
        let door = Shell::new(1);
        door.admission.with_queue(|queue| queue.max_wait = 10);
        let held = door.try_acquire(1).unwrap();
        let mut waits = door.acquire(1);
        assert!(waits.poll_once().is_none());
        join([
            spawn(&door, |door| {
                door.jump(10);
                door.fire();
            }),
            spawn(&door, |_| drop(held)),
            spawn(&door, |_| match block_on(waits) {
                Ok(inside) => drop(inside),
                Err(refusal) => assert_eq!(refusal.why, Why::WaitedTooLong),
            }),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_place_above_a_lowered_limit_is_handed_over_when_a_lease_has_made_room_for_it() {
    check("spare and lease", ALL, || {
        let door = Shell::resized(2, 2, 0);
        let mut leased = door.try_acquire(1).unwrap();
        leased.expire_at(10);
        let leaves = door.try_acquire(1).unwrap();
        door.set_limit(1);
        door.jump(10);
        join([
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |_| drop(leaves)),
        ]);
        drop(leased);
        door.assert_free(1);
    });
}

#[test]
fn a_lease_that_runs_out_while_its_holder_leaves_frees_one_place() {
    check("lease", ALL, || {
        let door = Shell::resized(1, 2, 0);
        let mut held = door.try_acquire(1).unwrap();
        held.expire_at(10);
        door.jump(10);
        join([
            spawn(&door, |_| drop(held)),
            spawn(&door, |door| drop(enter(door))),
        ]);
        door.assert_free(1);
    });
}

#[test]
fn a_pause_that_ends_lets_in_one_who_comes_at_that_moment() {
    check("pause", ALL, || {
        let door = Shell::new(1);
        door.pause_until(1 << 60);
        join([
            spawn(&door, |door| drop(enter(door))),
            spawn(&door, |door| door.end_pause()),
        ]);
        door.assert_free(1);
    });
}
