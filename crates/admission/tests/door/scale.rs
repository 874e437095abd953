//! A hundred thousand. The processor's time: generous bounds, which anything quadratic exceeds many times.

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tidegate_admission::{Acquire, Door};
use tidegate_core::{Start, per_second};

use crate::support::{assert_free, ms, poll_once};

const MANY: usize = 100_000;
const SOON: Duration = Duration::from_secs(20);

fn crowd(door: &Door) -> Vec<Option<Acquire>> {
    let mut crowd: Vec<_> = (0..MANY).map(|_| Some(door.acquire(1))).collect();
    for one in crowd.iter_mut().flatten() {
        assert!(poll_once(one).is_pending());
    }
    assert_eq!(door.waiting(), MANY);
    crowd
}

/// What this thread has taken of a processor, whatever else the machine does: the first number of that
/// file, in nanoseconds. Where there is none, the process's clock.
fn taken() -> Duration {
    let file = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = file.split(' ').next();
    let nanos = first.and_then(|first| first.parse().ok());
    nanos.map_or_else(uptime, Duration::from_nanos)
}

/// Tokio's clock is paused.
#[expect(clippy::disallowed_methods, reason = "the clock that is not paused")]
fn uptime() -> Duration {
    static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    ORIGIN.elapsed()
}

fn assert_soon(from: Duration, what: &str) {
    let took = taken().saturating_sub(from);
    assert!(took < SOON, "{what}: {took:?}");
}

#[test]
fn a_hundred_thousand_may_give_up_in_any_order() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let by_turns = |turn: usize| match turn % 2 {
        0 => turn / 2,
        _ => MANY - 1 - turn / 2,
    };
    let orders: [(&str, &dyn Fn(usize) -> usize); 5] = [
        ("from the front", &|turn| turn),
        ("from the back", &|turn| MANY - 1 - turn),
        ("from the middle", &|turn| (turn + MANY / 2) % MANY),
        ("front and back by turns", &by_turns),
        ("here and there", &|turn| turn * 7_919 % MANY),
    ];
    for (name, order) in orders {
        let mut crowd = crowd(&door);
        let from = taken();
        for turn in 0..MANY {
            drop(crowd[order(turn)].take().expect("each once"));
        }
        assert_soon(from, name);
        assert_eq!(door.waiting(), 0);
    }
    drop(held);
    assert_free(&door, 1);
}

#[test]
fn a_hundred_thousand_are_closed_out_or_let_in_at_once() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let inside = crowd(&door);
    let from = taken();
    door.set_limit(MANY + 1);
    assert_eq!(door.in_flight(), MANY + 1);
    drop(inside);
    assert_soon(from, "let in, and given up");
    drop(held);
    door.set_limit(1);
    let _held = door.try_acquire(1).unwrap();
    let waits = crowd(&door);
    let from = taken();
    door.close();
    drop(waits);
    assert_soon(from, "closed out");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_waits_of_mixed_lengths_run_out() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let mut waits = Vec::new();
    for number in 0..MANY {
        door.set_max_wait(Some(ms(1 + (number as u64 * 7_919) % 500)));
        let mut one = door.acquire(1);
        assert!(poll_once(&mut one).is_pending());
        waits.push(one);
    }
    let from = taken();
    for left in [250, 250] {
        tokio::time::sleep(ms(left)).await;
    }
    tokio::time::sleep(ms(1)).await;
    assert_soon(from, "of mixed lengths");
    assert_eq!(door.waiting(), 0);
    drop((waits, held));
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_thread_behind_a_hundred_thousand_tasks_slows_nobody() {
    let door = Door::new("rate", MANY);
    door.set_pace(Some(per_second(10_000.0).burst(11).start(Start::Empty)));
    let waits = crowd(&door);
    let thread = std::thread::spawn({
        let door = door.clone();
        move || door.acquire_blocking(1, None).map(drop)
    });
    while door.waiting() == MANY {
        std::thread::yield_now();
    }
    let from = taken();
    // Ten a millisecond, and the timer is armed each time.
    while door.waiting() > 0 {
        tokio::time::sleep(ms(1)).await;
    }
    assert_soon(from, "behind tasks");
    drop(waits);
    thread.join().unwrap().unwrap();
}
