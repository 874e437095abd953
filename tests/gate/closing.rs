//! Closing and draining a gate, and dropping it.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use tidegate::{GateHandle, GateLayer, RefusedReason, Start, Units, per_hour};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};

use crate::loopback::reqwest_client;
use crate::support::now;
use crate::work;

#[tokio::test(start_paused = true)]
async fn closing_ends_all_waiters_at_once_and_lets_those_inside_finish() {
    let blocks: [fn(&GateHandle); 3] = [
        |gate| gate.set_limit(1),
        |gate| gate.set_pace(Some(per_hour(1.0).start(Start::Empty))),
        |gate| gate.pause_until((now() + 3_600.s()).into_std()),
    ];
    for block in blocks {
        let gate = GateLayer::new(200).hold_head();
        let handle = gate.handle();
        let stack = gate.layer(work());
        let started = now();
        let mut inside = Box::pin(stack.clone().oneshot(1.s()));
        assert!(inside.as_mut().now_or_never().is_none());
        block(&handle);

        let waiters = join_all((0..100).map(|_| stack.clone().oneshot(1.s())));
        let closed = async {
            sleep(500.ms()).await;
            assert_eq!((handle.in_flight(), handle.waiting()), (1, 100));
            handle.close();
        };
        let (answers, ()) = join(waiters, closed).await;
        assert_eq!(now() - started, 500.ms());
        let late = stack.oneshot(1.s()).await;
        for answer in answers.into_iter().chain([late]) {
            let error = answer.unwrap_err();
            assert_eq!(error.refused().unwrap().reason, RefusedReason::Closed);
        }
        inside.await.unwrap();
        assert_eq!(now() - started, 1.s());
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn draining_waits_for_the_last_to_leave_or_says_how_many_are_left() {
    let gate = GateLayer::new(4);
    let handle = gate.handle();
    let stack = gate.hold_head().layer(work());
    let mut tasks = JoinSet::new();
    for nth in 1..=4 {
        tasks.spawn(stack.clone().oneshot(nth * 1.s()));
    }
    tokio::task::yield_now().await;
    let started = now();
    assert_eq!(handle.drain(1_500.ms()).await, 3);
    assert_eq!(now() - started, 1_500.ms());
    assert_eq!(handle.drain(1.s() * 60).await, 0);
    assert_eq!(now() - started, 4.s());
    assert_eq!(handle.drain(Duration::ZERO).await, 0);
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert!(stack.oneshot(1.s()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_stack_that_is_dropped_leaves_no_task() {
    let tasks_before = Handle::current().metrics().num_alive_tasks();
    let gate = GateLayer::new(1).pace(per_hour(1.0)).max_wait(7_200.s());
    let handle = gate.handle();
    let stack = gate.hold_head().layer(work());
    let waiters = join_all((0..100).map(|_| stack.clone().oneshot(1.s())));
    assert!(timeout(10.s(), waiters).await.is_err());
    assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
    drop((stack, handle));
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks_before);
}

#[test]
fn a_runtime_with_waiters_shuts_down_and_the_gate_goes_on_in_another() {
    let gate = GateLayer::new(1).hold_head();
    let handle = gate.handle();
    let stack = gate.layer(work());
    let held = handle.try_acquire().unwrap();

    let first = Runtime::new().unwrap();
    for _ in 0..100 {
        first.spawn(stack.clone().oneshot(1.s()));
    }
    while handle.waiting() < 100 {
        std::thread::yield_now();
    }
    first.shutdown_timeout(1.s());
    assert_eq!(handle.waiting(), 0);

    let second = Runtime::new().unwrap();
    let waiter = second.spawn(stack.oneshot(1.ms()));
    while handle.waiting() < 1 {
        std::thread::yield_now();
    }
    drop(held);
    second.block_on(waiter).unwrap().unwrap();
    assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
}

#[test]
fn a_stack_is_built_and_dropped_without_a_runtime() {
    let gate = GateLayer::new(1).pace(per_hour(1.0)).max_wait(1.s());
    let stack = gate.layer(reqwest_client().build().unwrap());
    let request = reqwest::Request::new(http::Method::GET, "http://a.test/".parse().unwrap());
    drop(stack.clone().oneshot(request));
    drop((stack, gate));
}
