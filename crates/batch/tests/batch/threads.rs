//! The batch of threads.

use std::cell::{Cell, RefCell};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use tidegate_batch::blocking::Batch;
use tidegate_batch::{Counts, Failed, Moment, Stopped};
use tidegate_core::{Error, Refused, RefusedReason, Steer};

use crate::support::{Gauge, Inside, Limit, Log, no_file};

#[test]
fn as_many_threads_as_the_window_work_at_once_and_no_more() {
    // Each waits for three others: with fewer it would never end.
    let (gauge, four) = (Gauge::default(), Barrier::new(4));
    let inside = gauge.clone();
    let summary = Batch::new(0..400)
        .window(4)
        .each(|_, _| {
            let _inside = inside.enter();
            four.wait();
            Ok::<_, Error>(())
        })
        .run();
    assert_eq!((summary.counts.succeeded, gauge.peak()), (400, 4));
}

#[test]
fn one_after_the_other_with_a_window_of_one() {
    let (log, here) = (Log::default(), thread::current().id());
    let summary = Batch::new(["a", "b", "c"])
        .window(1)
        .again(1, |text| Some(*text))
        .each(|index, text| {
            assert_eq!(thread::current().id(), here);
            log.add(index);
            match text {
                "b" => Err("b"),
                _ => Ok(()),
            }
        })
        .run();
    assert_eq!(log.all(), [0, 1, 2, 1]);
    assert_eq!((summary.counts.tries, summary.counts.failed), (4, 1));
    assert_eq!(summary.first_failure, Some((1, "b".to_owned())));
}

#[test]
fn of_nothing_nothing_is_done() {
    let summary = Batch::new([0; 0]).each(|_, _| Ok::<_, Error>(())).run();
    assert_eq!(summary.counts, Counts::default());
    assert_eq!(summary.left.count(), Some(0));
}

#[test]
fn panics_refusals_and_failures_are_told_apart() {
    let summary = Batch::new(0..9)
        .window(3)
        .again(2, |n| Some(*n))
        .each(|index, n| match n {
            2 => panic!("no two"),
            4 => Err(Refused::new("gate", RefusedReason::Closed).into()),
            6 => Err(Failed::for_good("six")),
            _ => Ok(index),
        })
        .run();
    let Counts {
        succeeded,
        refused,
        failed,
        panicked,
        tries,
        ..
    } = summary.counts;
    assert_eq!(
        [succeeded, refused, failed, panicked, tries],
        [6, 1, 2, 1, 11]
    );
    assert_eq!(summary.refusals[0].tries, 3);
}

#[test]
fn a_try_that_fails_while_the_others_have_nothing_to_do_is_tried_by_one_of_them() {
    let failures = Mutex::new(Cell::new(0));
    let summary = Batch::new(0..3)
        .window(3)
        .again(50, |n| Some(*n))
        .each(|_, n| {
            let failures = failures.lock().unwrap();
            if n == 1 && failures.get() < 50 {
                failures.set(failures.get() + 1);
                return Err("not yet");
            }
            Ok(())
        })
        .run();
    assert_eq!((summary.counts.succeeded, summary.counts.tries), (3, 53));
}

#[test]
fn threads_follow_a_limit() {
    let (limit, gauge) = (Limit::new(1), Gauge::default());
    let (handle, inside) = (limit.clone(), gauge.clone());
    // One that is let through, and 8 that wait; then 12 and 8.
    let (few, many) = (Barrier::new(9), Barrier::new(20));
    let summary = Batch::new(0..29)
        .steer(limit)
        .each(|index, _| {
            let _inside = inside.enter();
            if index < 9 {
                assert!(inside.peak() <= 9);
                few.wait();
                handle.set_limit(12);
            } else {
                many.wait();
            }
            Ok::<_, Error>(())
        })
        .run();
    assert_eq!((summary.counts.succeeded, gauge.peak()), (29, 20));
}

#[test]
fn cancelled_or_at_the_first_failure_what_is_under_way_ends() {
    let cancelled = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&cancelled);
    let summary = Batch::new(0..1_000)
        .window(2)
        .until(move || until.load(SeqCst))
        .each(|index, _| {
            cancelled.fetch_or(index == 10, SeqCst);
            Ok::<_, Error>(())
        })
        .run();
    assert!(matches!(summary.stopped, Some(Stopped::Cancelled)));
    let begun = summary.left.from;
    assert!((11..100).contains(&begun), "{begun}");
    assert_eq!(summary.counts.succeeded, begun);

    let summary = Batch::new(0..1_000)
        .window(2)
        .stop_at_first_failure()
        .each(|index, _| if index == 5 { Err("five") } else { Ok(()) })
        .run();
    assert!(matches!(summary.stopped, Some(Stopped::FirstFailure)));
    let all = summary.counts.ended() + summary.left.count().unwrap();
    assert_eq!((summary.counts.failed, all), (1, 1_000));
}

#[test]
fn it_is_taken_up_again() {
    let file = no_file("threads.idx");
    let log = Log::default();
    for expected in [67, 33, 0] {
        let moments = Log::default();
        let shown = moments.clone();
        let before = log.all().len();
        let fails = expected == 67;
        let summary = Batch::new(0..100)
            .window(5)
            .resume_from(&file)
            .progress(move |moment: &Moment| shown.add(moment.done()))
            .each(|index, _| {
                if fails && index % 3 == 1 {
                    return Err("one of three");
                }
                log.add(index);
                Ok(())
            })
            .run();
        assert_eq!(summary.counts.succeeded, expected);
        assert_eq!(log.all().len() - before, expected);
        assert_eq!((moments.all()[0], moments.all().last()), (0, Some(&100)));
    }
    assert_eq!(log.sorted(), (0..100).collect::<Vec<_>>());
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 101);
}

#[test]
fn an_input_that_waits_keeps_nobody_from_ending() {
    let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
    sender.send(3).unwrap();
    let sender = Mutex::new(Some(sender));
    let summary = Batch::new(receiver)
        .window(4)
        .each(|_, n| {
            let mut sender = sender.lock().unwrap();
            match n {
                0 => drop(sender.take()),
                n => sender.as_ref().unwrap().send(n - 1).unwrap(),
            }
            Ok::<_, Error>(())
        })
        .run();
    assert_eq!(summary.counts.succeeded, 4);
}

/// The input gives its last request when the first three are done: written down, and told.
#[test]
fn an_input_that_waits_keeps_nothing_from_being_written_down() {
    let file = no_file("waits.idx");
    let written = || {
        fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let input = (0..4).inspect(|n| {
        while *n == 3 && written() < 4 {
            thread::yield_now();
        }
    });
    let summary = Batch::new(input)
        .window(4)
        .resume_from(&file)
        .each(|_, _| Ok::<_, Error>(()))
        .run();
    assert_eq!((summary.counts.succeeded, written()), (4, 5));
}

/// Whoever of its threads it happens on.
#[test]
fn what_panics_other_than_a_try_ends_the_run_with_its_panic() {
    for what in ["input", "copy", "until", "progress"] {
        let log = Log::default();
        let (threads, done) = (Gauge::default(), log.clone());
        let run = || {
            let panics = move |here: &str, now: bool| assert!(what != here || !now, "no {what}");
            Batch::new((0..1_000).inspect(|n| panics("input", *n == 50)))
                .window(3)
                .again(1, move |n| {
                    panics("copy", *n == 50);
                    Some(*n)
                })
                .until(move || {
                    panics("until", done.all().len() >= 50);
                    false
                })
                .progress(move |moment: &Moment| panics("progress", moment.done() >= 50))
                .each(|index, _| {
                    let _inside = threads.enter();
                    log.add(index);
                    Ok::<_, Error>(())
                })
                .run()
        };
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
        assert_eq!(*panic.downcast::<String>().unwrap(), format!("no {what}"));
        let sent = log.sorted();
        assert!(sent.len() >= 50 && threads.now() == 0);
        // It is shown at the end at the latest; all else is asked before the next is sent.
        assert!(
            sent.len() < 55 || what == "progress",
            "{what}: {}",
            sent.len()
        );
    }
}

thread_local! {
    static ALIVE: RefCell<Option<Inside>> = const { RefCell::new(None) };
}

/// Those for which there is no room any more, so that an end of a try need not wake them all. Of those of
/// its own: the first one is the caller's.
#[test]
fn threads_end_when_a_limit_falls() {
    let (limit, alive, caller) = (Limit::new(92), Gauge::default(), thread::current().id());
    let (handle, hundred) = (limit.clone(), Barrier::new(100));
    let summary = Batch::new(0..1_000)
        .window(1_000)
        .steer(limit)
        .each(|index, _| {
            if thread::current().id() != caller {
                ALIVE.with_borrow_mut(|one| {
                    one.get_or_insert_with(|| alive.enter());
                });
            }
            if index < 100 {
                hundred.wait();
                handle.set_limit(1);
            }
            while index == 999 && alive.now() > 9 {
                thread::yield_now();
            }
            Ok::<_, Error>(())
        })
        .run();
    assert_eq!(summary.counts.succeeded, 1_000);
    assert!(alive.peak() >= 99);
}

#[test]
fn behind_a_gate_that_is_closed_nothing_is_begun() {
    let limit = Limit::new(3);
    limit.close();
    let summary = Batch::new(0..10)
        .steer(limit)
        .each(|_, _| Ok::<_, Error>(()))
        .run();
    assert!(matches!(summary.stopped, Some(Stopped::Closed)));
    assert_eq!((summary.counts.tries, summary.left.count()), (0, Some(10)));
}
