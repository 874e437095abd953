//! A pause that a service asked for, step by step.

use std::sync::Arc;

use super::shell::{Inside, Shell, Wait};
use crate::primitives::Std;
use crate::refusal::{Refusal, Why};

const SECOND: u64 = 1_000_000_000;
const END: u64 = 30 * SECOND;

type Door = Arc<Shell<Std>>;

/// A door with one inside, and so many that wait.
fn crowded(waiting: usize) -> (Door, Inside<Std>, Vec<Wait<Std>>) {
    let door = Shell::new(1);
    let inside = door.try_acquire(1).unwrap();
    let mut waits: Vec<_> = (0..waiting).map(|_| door.acquire(1)).collect();
    assert!(waits.iter_mut().all(|wait| wait.poll_once().is_none()));
    (door, inside, waits)
}

/// The first that comes long after it finds that it is over.
fn assert_over(door: &Door, limit: usize) {
    door.jump(100 * END);
    drop(door.try_acquire(1).expect("it is over"));
    door.assert_free(limit);
}

fn refused(wait: &mut Wait<Std>) -> Refusal {
    match wait.poll_once() {
        Some(Err(refusal)) => refusal,
        Some(Ok(_)) => panic!("it entered"),
        None => panic!("it waits"),
    }
}

#[test]
fn those_that_waited_enter_one_by_one_as_the_timer_fires() {
    let (door, inside, mut waits) = crowded(20);
    door.cool_down(END);
    door.set_limit(10);
    drop(inside);
    let mut times: Vec<u64> = Vec::new();
    while !waits.is_empty() {
        let at = door.admission.with_queue(|queue| queue.times.armed());
        door.jump(at.expect("somebody waits"));
        door.fire();
        // Each leaves at once.
        waits.retain_mut(|wait| match wait.poll_once() {
            Some(entered) => {
                drop(entered.unwrap());
                times.push(door.now());
                false
            }
            None => true,
        });
    }
    assert!(times[0] >= END);
    let apart = times.windows(2).all(|pair| pair[1] >= pair[0] + 1_000_000);
    assert!(apart, "{times:?}");
    let first = times.iter().filter(|at| **at < END + SECOND).count();
    assert!(first <= 10, "{first}");
}

#[test]
fn who_comes_when_it_has_just_ended_finds_no_open_door() {
    let door = Shell::<Std>::new(10);
    door.cool_down(END);
    door.jump(END);
    door.fire();
    let inside: Vec<_> = (0..10).filter_map(|_| door.try_acquire(1)).collect();
    assert!(inside.len() <= 1, "{}", inside.len());
    drop(inside);
    assert_over(&door, 10);
}

#[test]
fn longer_than_anybody_waits_it_refuses_all_that_wait_and_all_that_come() {
    let (door, inside, mut waits) = crowded(2);
    door.cool_down(61 * SECOND);
    let wait = Some(61 * SECOND);
    let refusal = Refusal {
        why: Why::Paused,
        wait,
    };
    waits.push(door.acquire(1));
    for wait in &mut waits {
        assert_eq!(refused(wait), refusal);
    }
    door.jump(SECOND);
    assert!(door.acquire(1).poll_once().is_none(), "60 s are waited");
    drop(inside);
    assert_over(&door, 1);
}

#[test]
fn longer_than_one_may_wait_it_refuses_it_and_not_those_whose_wait_it_ends_in() {
    let (door, inside, mut patient) = crowded(1);
    door.admission
        .with_queue(|queue| queue.max_wait = 10 * SECOND);
    let mut hasty = door.acquire(1);
    assert!(hasty.poll_once().is_none());
    door.cool_down(10 * SECOND);
    assert!(hasty.poll_once().is_none(), "to the moment");
    door.cool_down(10 * SECOND + 1);
    assert_eq!(refused(&mut hasty).why, Why::WaitTooLong);
    assert!(patient[0].poll_once().is_none());
    drop((inside, patient));
    assert_over(&door, 1);
}

#[test]
fn one_that_was_passed_over_is_refused_too() {
    let (door, inside, mut waits) = crowded(2);
    drop(inside);
    for ticks in 1..=3 {
        door.jump(ticks * 50_000_000);
        door.fire();
    }
    door.cool_down(100 * SECOND);
    assert_eq!(refused(&mut waits[0]).why, Why::Paused);
}
