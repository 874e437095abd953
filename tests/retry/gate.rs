//! A retry above a gate: while it backs off it holds nothing.

use tidegate::{GateLayer, Jitter, RefusedReason, RetryLayer, Units, per_second};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::time::sleep;
use tower::load_shed::error::Overloaded;
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::common::{arrivals, get, retry, send};
use crate::support::{assert_free, now};

#[tokio::test(start_paused = true)]
async fn with_a_gate_of_one_another_is_served_while_one_backs_off() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(10.ms()))
        .script(|head, nth| {
            (head.method == "GET" && nth < 4).then(|| Response::new(503).body("busy"))
        })
        .start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(
            RetryLayer::exponential(1.s()..5.s())
                .jitter(Jitter::None)
                .attempts(4),
        )
        .layer(gate)
        .service(upstream.direct());

    let started = now();
    let backs_off = tokio::spawn({
        let stack = stack.clone();
        async move { send(&stack, get()).await.status() }
    });
    sleep(700.ms()).await;
    assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
    let put = crate::common::request(http::Method::PUT);
    assert_eq!(send(&stack, put).await.status(), 200);
    assert_eq!(now() - started, 710.ms());
    // Between the attempts at 1.01, 3.02 and 7.03 s.
    for at in [1_005, 1_021, 3_019, 3_031, 7_029] {
        sleep(started + at.ms() - now()).await;
        assert_eq!(handle.in_flight(), 0, "at {at} ms");
    }
    assert_eq!(backs_off.await.unwrap(), 200);
    assert_eq!(now() - started, 7_040.ms());
    assert_eq!(
        arrivals(&upstream),
        [0, 700, 1_010, 3_020, 7_030].map(|ms: u64| ms.ms())
    );
    assert_free(&handle, 1);
}

/// What is left of a failure's body is read first, for 100 ms at most.
#[tokio::test(start_paused = true)]
async fn a_failure_whose_body_stalls_frees_its_permit_after_a_tenth_of_a_second() {
    let upstream = Upstream::unlimited()
        .script(|_, nth| (nth == 0).then(|| Response::new(503).chunk("busy").pause(3_600.s())))
        .start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(retry().floor(5.s()))
        .layer(gate)
        .service(upstream.direct());
    let answer = tokio::spawn(async move { send(&stack, get()).await.status() });
    sleep(99.ms()).await;
    assert_eq!(handle.in_flight(), 1);
    sleep(1.ms()).await;
    tokio::task::yield_now().await;
    assert_eq!(handle.in_flight(), 0);
    assert_eq!(answer.await.unwrap(), 200);
    assert_eq!(arrivals(&upstream), [0.s(), 5.s()]);
}

#[tokio::test(start_paused = true)]
async fn what_a_gate_refuses_is_passed_on_at_once() {
    let upstream = Upstream::unlimited().start_in_process();
    let gate = GateLayer::new(1);
    gate.handle().close();
    let stack = retry().layer(gate.layer(upstream.direct()));
    let started = now();
    let error = stack.oneshot(get()).await.unwrap_err();
    assert_eq!(now() - started, 0.s());
    assert_eq!(error.refused().unwrap().reason, RefusedReason::Closed);
    assert!(error.find::<tidegate::GaveUp>().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_a_load_shed_refuses_is_passed_on_at_once() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(1.s()))
        .start_in_process();
    let stack = ServiceBuilder::new()
        .layer(retry())
        .load_shed()
        .concurrency_limit(1)
        .service(upstream.direct());
    let first = tokio::spawn(stack.clone().oneshot(get()));
    tokio::task::yield_now().await;
    let started = now();
    let error = stack.oneshot(get()).await.unwrap_err();
    assert!(error.find::<Overloaded>().is_some());
    assert_eq!(now() - started, 0.s());
    first.abort();
}

#[tokio::test(start_paused = true)]
async fn told_so_it_comes_back_when_the_refusal_says() {
    let upstream = Upstream::unlimited().start_in_process();
    let gate = GateLayer::new(9).pace(per_second(1.0)).max_wait(0.s());
    let stack = ServiceBuilder::new()
        .layer(retry().retry_refusals())
        .layer(gate)
        .service(upstream.direct());
    send(&stack, get()).await;
    assert_eq!(send(&stack, get()).await.status(), 200);
    assert_eq!(arrivals(&upstream), [0.ms(), 1_100.ms()]);
}
