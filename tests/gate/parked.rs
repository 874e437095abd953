//! Waiters that nobody polls: they keep their turn, and do not stop the others for long.

use std::pin::pin;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use tidegate::{GateLayer, Units};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::support::{assert_free, now};
use crate::work;

/// 10 ms of work after the others were passed over, 100 to 150 ms after the grant of the first.
#[track_caller]
fn assert_passed_over(took: Duration) {
    let range = 110.ms()..=160.ms();
    assert!(range.contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn three_calls_joined_in_one_task_are_served_one_after_the_other() {
    let gate = GateLayer::new(1).hold_head();
    let stack = gate.layer(work());
    let started = now();
    let (one, two, three) = tokio::join!(
        stack.clone().oneshot(10.ms()),
        stack.clone().oneshot(10.ms()),
        stack.oneshot(10.ms()),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(now() - started, 30.ms());
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_lost_a_select_and_is_kept_lets_the_next_pass_and_is_served_when_it_is_polled()
{
    let gate = GateLayer::new(1).hold_head();
    let stack = gate.layer(work());
    let holder = tokio::spawn(stack.clone().oneshot(50.ms()));
    tokio::task::yield_now().await;
    let mut kept = pin!(stack.clone().oneshot(10.ms()));
    tokio::select! {
        _ = &mut kept => unreachable!("the only place is taken"),
        () = sleep(20.ms()) => {}
    }
    holder.await.unwrap().unwrap();
    let started = now();
    stack.oneshot(10.ms()).await.unwrap();
    assert_passed_over(now() - started);
    kept.await.unwrap();
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_parked_for_good_let_the_others_pass_and_can_be_dropped() {
    let gate = GateLayer::new(1).hold_head();
    let stack = gate.layer(work());
    let held = gate.handle().try_acquire().unwrap();
    let mut parked: Vec<_> = (0..5)
        .map(|_| Box::pin(stack.clone().oneshot(10.ms())))
        .collect();
    for call in &mut parked {
        assert!(call.now_or_never().is_none());
    }
    drop(held);
    let started = now();
    stack.clone().oneshot(10.ms()).await.unwrap();
    assert_passed_over(now() - started);
    // Passed over once, they stand in nobody's way.
    let started = now();
    stack.oneshot(10.ms()).await.unwrap();
    assert_eq!(now() - started, 10.ms());
    drop(parked);
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_forgotten_while_it_waits_costs_no_place() {
    let gate = GateLayer::new(1).hold_head();
    let stack = gate.layer(work());
    let held = gate.handle().try_acquire().unwrap();
    let mut forgotten = Box::pin(stack.clone().oneshot(10.ms()));
    assert!(forgotten.as_mut().now_or_never().is_none());
    std::mem::forget(forgotten);
    drop(held);
    let started = now();
    stack.clone().oneshot(10.ms()).await.unwrap();
    assert_passed_over(now() - started);
    assert_eq!(gate.handle().in_flight(), 0);
    let started = now();
    stack.oneshot(10.ms()).await.unwrap();
    assert_eq!(now() - started, 10.ms());
}

/// While its consumer is busy with an answer nobody polls the stream: of its calls three have been
/// sent, one is granted the place that came free, and five wait.
#[tokio::test(start_paused = true)]
async fn a_buffered_stream_with_a_slow_consumer_lets_the_others_pass() {
    let gate = GateLayer::new(4).hold_head();
    let stack = gate.layer(work());
    let calls = stream::iter(1..=20).map(|nth| stack.clone().oneshot((nth * 10).ms()));
    let mut answers = calls.buffer_unordered(10);
    answers.next().await.unwrap().unwrap();
    let handle = gate.handle();
    assert_eq!((handle.in_flight(), handle.waiting()), (4, 5));

    let started = now();
    stack.clone().oneshot(10.ms()).await.unwrap();
    assert_passed_over(now() - started);
    assert_eq!(answers.count().await, 19);
    assert_free(&handle, 4);
}

/// However many of the stream's calls wait: the one who asks beside it is not behind each of them.
#[tokio::test(start_paused = true)]
async fn a_call_beside_a_buffered_stream_of_a_thousand_waits_no_longer_than_beside_ten() {
    for calls in [20, 100, 1_000] {
        let gate = GateLayer::new(10).hold_head();
        let stack = gate.layer(work());
        let answers = stream::iter(0..calls).map(|_| stack.clone().oneshot(10.ms()));
        let mut answers = answers.buffer_unordered(calls);
        let mut count = 0;
        while let Some(answer) = answers.next().await {
            answer.unwrap();
            count += 1;
            let started = now();
            stack.clone().oneshot(10.ms()).await.unwrap();
            assert!(now() - started <= 160.ms(), "{:?}", now() - started);
        }
        assert_eq!(count, calls);
        assert_free(&gate.handle(), 10);
    }
}
