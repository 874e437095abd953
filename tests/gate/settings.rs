//! How a gate is set up, and what it refuses.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use tidegate::{GateLayer, RefusedReason, Steer, Units, per_second};
use tidegate_testkit::{Fixed, Upstream};
use tower::{Layer, ServiceExt};

use crate::support::{assert_free, now};
use crate::{arrivals, get, work};

#[test]
fn two_thousand_a_second_at_50_ms_each_are_a_hundred_at_once() {
    let gate = GateLayer::for_throughput(2_000.0, 50.ms());
    assert_free(&gate.handle(), 100);
}

#[test]
fn one_for_each_core() {
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_free(&GateLayer::per_core().handle(), cores);
}

#[test]
#[should_panic(expected = "a limit is at least 1")]
fn a_gate_of_none_is_refused_when_it_is_made() {
    let _ = GateLayer::new(0);
}

#[tokio::test(start_paused = true)]
async fn who_comes_to_a_full_queue_is_refused_at_once_and_those_in_it_are_served() {
    let gate = GateLayer::new(1).max_queue(2).hold_head();
    let stack = gate.layer(work());
    let started = now();
    let calls = (0..4).map(|_| async {
        let answer = stack.clone().oneshot(10.ms()).await;
        (now() - started, answer)
    });
    let mut answers = join_all(calls).await;
    let (after, refused) = answers.pop().unwrap();
    assert_eq!(after, Duration::ZERO);
    let words = "refused by gate, nothing was sent: the queue is full (2 may wait)";
    assert_eq!(refused.unwrap_err().to_string(), words);
    for (nth, (after, answer)) in (1..).zip(answers) {
        assert_eq!(after, nth * 10.ms());
        answer.unwrap();
    }
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_refused_to_the_millisecond() {
    let gate = GateLayer::new(1).max_wait(30.ms()).hold_head();
    let stack = gate.layer(work());
    let holder = stack.clone().oneshot(100.ms());
    let started = now();
    let (holder, refused) = futures_util::future::join(holder, stack.oneshot(10.ms())).await;
    holder.unwrap();
    assert_eq!(now() - started, 100.ms());
    let refused = refused.unwrap_err();
    let reason = RefusedReason::WaitedTooLong { max_wait: 30.ms() };
    assert_eq!(refused.refused().unwrap().reason, reason);
    assert_free(&gate.handle(), 1);
}

/// The third could start after 2 s.
#[tokio::test(start_paused = true)]
async fn whose_turn_would_come_too_late_by_the_pace_is_refused_at_once_and_told_when_to_come() {
    let gate = GateLayer::new(9)
        .pace(per_second(1.0))
        .max_wait(1_500.ms())
        .hold_head();
    let stack = gate.layer(work());
    let mut calls: Vec<_> = (0..3)
        .map(|_| Box::pin(stack.clone().oneshot(10.ms())))
        .collect();
    assert!(calls[0].as_mut().now_or_never().is_none());
    assert!(calls[1].as_mut().now_or_never().is_none());
    let started = now();
    let error = calls.pop().unwrap().await.unwrap_err();
    assert_eq!(now(), started);
    let refused = error.refused().unwrap();
    let reason = RefusedReason::WaitTooLong {
        max_wait: 1_500.ms(),
    };
    assert_eq!(
        (&refused.reason, refused.retry_after),
        (&reason, Some(2.s()))
    );
    join_all(calls).await;
    assert_eq!(now() - started, 1_010.ms());
}

#[tokio::test(start_paused = true)]
async fn limit_and_pace_are_one_admission() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(150.ms()))
        .start_in_process();
    let gate = GateLayer::new(10).pace(per_second(50.0).burst(10));
    let stack = gate.layer(upstream.direct());
    let calls = (0..500).map(|_| async {
        let response = stack.clone().oneshot(get("/")).await.unwrap();
        response.into_body().collect().await.unwrap();
    });
    let started = now();
    join_all(calls).await;
    // The 10 of the burst, then one each 20 ms.
    assert_eq!(now() - started, 490 * 20.ms() + 150.ms());
    assert_eq!(upstream.most_arrivals_in(1.s()), 59);
    assert_eq!(upstream.peak_in_flight(), 10);
    assert_eq!(arrivals(&upstream)[499], 490 * 20.ms());
    assert_eq!(gate.handle().in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handle_watches_and_steers_a_running_gate() {
    let gate = GateLayer::new(2).hold_head();
    let steer: Box<dyn Steer> = Box::new(gate.handle());
    let stack = gate.layer(work());
    let mut calls: Vec<_> = (0..5)
        .map(|_| Box::pin(stack.clone().oneshot(10.ms())))
        .collect();
    for call in &mut calls {
        assert!(call.now_or_never().is_none());
    }
    let seen = steer.snapshot();
    assert_eq!((seen.limit, seen.in_flight, seen.waiting), (2, 2, 3));
    assert_eq!(
        (seen.pace, seen.pause_until, seen.closed),
        (None, None, false)
    );

    steer.set_limit(4);
    let pace = per_second(10.0);
    steer.set_pace(Some(pace));
    let until = (now() + 1.s()).into_std();
    steer.pause_until(until);
    let seen = steer.snapshot();
    assert_eq!((seen.limit, seen.in_flight, seen.waiting), (4, 4, 1));
    assert_eq!((seen.pace, seen.pause_until), (Some(pace), Some(until)));

    let started = now();
    join_all(calls).await;
    assert_eq!(now() - started, 1_010.ms());
    stack.handle().close();
    assert!(steer.snapshot().closed);
}
