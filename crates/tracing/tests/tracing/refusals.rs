//! Many refusals, few lines.

use std::time::Duration;

use futures_util::FutureExt;
use tidegate_core::{Observer as _, Refused, RefusedReason, Units};
use tidegate_gate::{GateLayer, HoldHead};
use tidegate_keyed::KeyedLayer;
use tidegate_tracing::Events;
use tokio::time::advance;
use tower::{Layer, ServiceExt, service_fn};
use tracing::Level;

use crate::heard::{Heard, Line};
use crate::now;

/// It lets nobody in.
fn closed(events: &Events) -> GateLayer<HoldHead> {
    let gate = GateLayer::new(1).hold_head();
    events.attach(&gate.handle());
    gate.handle().close();
    gate
}

/// 10,000 requests within ten seconds, all refused.
async fn refuse(events: Events, keys: u32) {
    let keyed = KeyedLayer::per_host(move |host| closed(&events.key(host)));
    let stack = keyed.layer(service_fn(async |_: http::Request<()>| {
        Ok::<_, std::io::Error>(http::Response::new(()))
    }));
    drop(keyed);
    for turn in 0..10_000 {
        let host = format!("http://host-{}/", turn % keys);
        let request = http::Request::get(host).body(()).unwrap();
        let answer = stack.clone().oneshot(request).now_or_never().unwrap();
        assert!(answer.unwrap_err().refused().is_some());
        advance(1.ms()).await;
    }
}

fn counts(lines: &[Line]) -> Vec<u64> {
    lines.iter().map(|line| line.count("refused")).collect()
}

#[tokio::test(start_paused = true)]
async fn of_10_000_refusals_in_10_s_there_are_two_lines_and_all_are_counted() {
    for keys in [1, 1_000] {
        let (heard, _listening) = Heard::listen();
        refuse(Events::new("crawl"), keys).await;
        let loud = heard.loud();
        // The first at once, the others when the stack goes.
        assert_eq!(counts(&loud), [1, 9_999], "{loud:?}");
        for line in loud {
            assert_eq!(line.level, Level::WARN);
            assert_eq!(line.count("closed"), line.count("refused"));
            assert_eq!((line.get("by"), line.get("stack")), ("gate", "crawl"));
        }
        // Each of them is a word at trace.
        assert_eq!(heard.events().len(), 10_002);
    }
}

#[tokio::test(start_paused = true)]
async fn however_short_the_interval_there_is_at_most_one_line_in_a_second() {
    for keys in [1, 1_000] {
        let (heard, _listening) = Heard::listen();
        refuse(Events::new("crawl").every(Duration::ZERO), keys).await;
        let loud = heard.loud();
        let [first, between @ .., last] = &counts(&loud)[..] else {
            panic!("{loud:?}");
        };
        assert_eq!((*first, between, *last), (1, &[1_000; 9][..], 999));
        let after = |pair: &[Line]| pair[1].at - pair[0].at;
        assert!(loud[..10].windows(2).all(|pair| after(pair) == 1.s()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_is_told_by_whatever_happens_after_the_interval() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("crawl");
    let closed = closed(&events).handle();
    for _ in 0..3 {
        assert!(closed.try_acquire().is_err());
    }
    assert_eq!(counts(&heard.loud()), [1]);
    advance(9_999.ms()).await;
    events.on_wait(now().into_std(), 5.ms());
    assert_eq!(counts(&heard.loud()), [1]);
    advance(1.ms()).await;
    events.on_wait(now().into_std(), 5.ms());
    assert_eq!(counts(&heard.loud()), [1, 2]);
    // After a quiet time the next one is told at once again.
    advance(10.s()).await;
    assert!(closed.try_acquire().is_err());
    assert_eq!(counts(&heard.loud()), [1, 2, 1]);
    drop((events, closed));
    assert_eq!(counts(&heard.loud()), [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_line_says_by_whom_why_how_long_and_whose() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("crawl");
    let max_wait = 2.s();
    let reasons = [
        ("gate", RefusedReason::QueueFull { max_queue: 5 }),
        ("gate", RefusedReason::WaitTooLong { max_wait }),
        ("rate", RefusedReason::WaitedTooLong { max_wait }),
        ("rate", RefusedReason::Paused { longest: max_wait }),
        ("door", RefusedReason::NoRoom),
        ("door", RefusedReason::Closed),
    ];
    let at = now().into_std();
    events.on_refused(at, &Refused::new("gate", RefusedReason::Closed), 0.s());
    for (times, (by, reason)) in reasons.into_iter().enumerate() {
        for time in 0..=times as u64 {
            let refused = Refused::new(by, reason.clone());
            let key = events.key(["a", "b", "a", "c"][time as usize % 4]);
            key.on_refused(at, &refused, Duration::from_millis(10 * time));
        }
    }
    // One that has no key here, and brings its own.
    let own = Refused::new("gate", RefusedReason::NoRoom).key("a".into());
    events.on_refused(at, &own, 0.s());
    drop(events);
    let [first, rest] = &heard.loud()[..] else {
        panic!("two lines");
    };
    assert_eq!(
        first.words(),
        "by=gate closed=1 longest_wait_ms=0.0 message=requests were refused, nothing was sent \
         refused=1 stack=crawl"
    );
    assert_eq!(
        rest.words(),
        "by=gate, rate, door closed=6 longest_wait_ms=50.0 \
         message=requests were refused, nothing was sent \
         most_refused=a (13), b (6), c (3) no_room=6 paused=4 queue_full=1 \
         refused=22 stack=crawl wait_too_long=2 waited_too_long=3"
    );
}

#[test]
fn threads_that_are_refused_at_once_are_all_counted() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("crawl").every(1.s());
    let origin = now().into_std();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let _listening = heard.listen_too();
                let refused = Refused::new("gate", RefusedReason::NoRoom);
                for turn in 0..2_000 {
                    let at = origin + Duration::from_millis(5 * turn);
                    events.on_refused(at, &refused, 0.s());
                    events.on_wait(at, 1.ms());
                }
            });
        }
    });
    drop(events);
    let loud = heard.loud();
    assert_eq!(counts(&loud).iter().sum::<u64>(), 8 * 2_000);
    // Each second once, the last one when the stack goes.
    assert_eq!(loud.len(), 11, "{:?}", counts(&loud));
}
