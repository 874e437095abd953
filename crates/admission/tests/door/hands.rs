//! Who hears of moves by hand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use tidegate_admission::Door;
use tidegate_core::{Change, Observer, Pace, Reason, Setting, per_second, strict};

use crate::support::{self, ms};

/// The changes that were heard, and when.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(Instant, Change)>>);

impl Heard {
    fn at(door: &Door) -> Arc<Self> {
        let heard = Arc::new(Self::default());
        door.observe(Arc::clone(&heard) as _);
        heard
    }

    fn take(&self) -> Vec<(Instant, Change)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The limits that it moved from and to.
    fn limits(&self) -> Vec<(f64, f64)> {
        let changes = self.take().into_iter();
        changes
            .map(|(_, change)| (change.from.limit, change.to.limit))
            .collect()
    }
}

impl Observer for Heard {
    fn on_change(&self, now: Instant, change: &Change) {
        self.0.lock().unwrap().push((now, *change));
    }
}

fn now() -> Instant {
    support::now().into_std()
}

fn setting(limit: usize, pace: Option<Pace>, pause_until: Option<Instant>) -> Setting {
    Setting {
        limit: limit as f64,
        pace,
        pause_until,
    }
}

#[tokio::test(start_paused = true)]
async fn each_move_is_told_once_with_what_was_and_what_is() {
    let door = Door::new("gate", 10);
    let heard = Heard::at(&door);
    let (start, pace) = (now(), Some(per_second(5.0).burst(2)));
    door.set_limit(4);
    tokio::time::advance(ms(20)).await;
    door.set_pace(pace);
    door.pause_until(start + ms(500));
    door.pause_until(start + ms(900));
    tokio::time::advance(ms(30)).await;
    door.end_pause();
    let until = |millis| Some(start + ms(millis));
    let settings = [
        (0, setting(10, None, None)),
        (0, setting(4, None, None)),
        (20, setting(4, pace, None)),
        (20, setting(4, pace, until(500))),
        (20, setting(4, pace, until(900))),
        (50, setting(4, pace, None)),
    ];
    let reason = Reason::Manual;
    let told = settings.windows(2).map(|pair| {
        let (from, to) = (pair[0].1, pair[1].1);
        (start + ms(pair[1].0), Change { from, to, reason })
    });
    assert_eq!(heard.take(), told.collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn what_moves_nothing_is_not_told() {
    let door = Door::new("gate", 1);
    door.set_pace(Some(per_second(5.0)));
    door.pause_until(now() + ms(500));
    let heard = Heard::at(&door);
    door.set_limit(0);
    door.set_limit(1);
    door.set_pace(Some(per_second(5.0)));
    door.pause_until(now() + ms(499));
    tokio::time::advance(ms(500)).await;
    door.end_pause();
    door.pause_until(now());
    door.set_pace_of(7, None);
    assert_eq!(heard.take(), []);

    // There is no limit to be moved.
    let rate = Door::without_limit("rate");
    let heard = Heard::at(&rate);
    rate.set_limit(5);
    assert_eq!(heard.take(), []);
    rate.set_pace(Some(strict(3, ms(100))));
    assert_eq!(heard.limits(), [(usize::MAX as f64, usize::MAX as f64)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_law_or_a_service_asks_for_is_not_told_as_moved_by_hand() {
    let door = Door::new("gate", 10);
    let heard = Heard::at(&door);
    door.by_law().set_limit(3);
    door.by_law().set_pace(Some(per_second(5.0)));
    door.by_law().pause_until(now() + ms(500));
    assert!(door.paused_until().is_some());
    door.by_law().end_pause();
    assert_eq!(door.paused_until(), None);
    door.cool_down_until(now() + ms(500));
    assert_eq!((door.limit(), door.pace()), (3, Some(per_second(5.0))));
    assert_eq!(heard.take(), []);
    // The next hand goes on from there.
    door.set_limit(4);
    assert_eq!(heard.limits(), [(3.0, 4.0)]);
}

#[test]
fn an_observer_may_move_the_door_and_that_is_told_to_all_after_what_it_heard() {
    #[derive(Debug)]
    struct Doubles(Door);

    impl Observer for Doubles {
        fn on_change(&self, _: Instant, change: &Change) {
            if change.to.limit < 8.0 {
                self.0.set_limit(2 * change.to.limit as usize);
            }
        }
    }

    let door = Door::new("gate", 1);
    let first = Heard::at(&door);
    door.observe(Arc::new(Doubles(door.clone())));
    let last = Heard::at(&door);
    door.set_limit(2);
    let limits = [(1.0, 2.0), (2.0, 4.0), (4.0, 8.0)];
    assert_eq!(first.limits(), limits);
    assert_eq!(last.limits(), limits);
}

#[test]
fn moves_of_many_threads_are_told_once_each_and_one_after_the_other() {
    let door = Door::new("gate", 1);
    let heard = Heard::at(&door);
    thread::scope(|scope| {
        for first in 0..4 {
            let door = &door;
            scope.spawn(move || (0..500).for_each(|turn| door.set_limit(2 + first + 4 * turn)));
        }
    });
    let limits = heard.limits();
    assert_eq!(limits.len(), 2_000);
    assert_eq!(limits[0].0.to_string(), "1");
    for pair in limits.windows(2) {
        assert_eq!(pair[0].1.to_string(), pair[1].0.to_string());
    }
    assert_eq!(limits[1_999].1.to_string(), door.limit().to_string());
}

#[test]
fn an_observer_that_panics_costs_no_later_observer_a_later_move() {
    #[derive(Debug)]
    struct Panics;

    impl Observer for Panics {
        fn on_change(&self, _: Instant, change: &Change) {
            assert!(change.to.limit > 2.0, "on purpose");
        }
    }

    let door = Door::new("gate", 1);
    door.observe(Arc::new(Panics));
    let heard = Heard::at(&door);
    assert!(catch_unwind(AssertUnwindSafe(|| door.set_limit(2))).is_err());
    assert_eq!(door.limit(), 2);
    door.set_limit(3);
    assert_eq!(heard.limits(), [(2.0, 3.0)]);
}
