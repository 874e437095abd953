//! The wait for a place is inside of every timeout over the gate.

use std::io;
use std::time::Duration;

use futures_util::future::join_all;
use tidegate::{BoxError, Error, GateLayer, RefusedReason, Units, per_minute};
use tokio::time::{sleep, timeout};
use tower::timeout::TimeoutLayer;
use tower::timeout::error::Elapsed;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{assert_free, now};

/// When it was over, and how.
type Answer = (Duration, Result<(), Error>);

/// Ten callers at once.
async fn ten<S>(service: S) -> Vec<Answer>
where
    S: Service<(), Response = (), Error: Into<BoxError>> + Clone,
{
    let started = now();
    let calls = (0..10).map(|_| async {
        let answer = service.clone().oneshot(()).await.map_err(Error::service);
        (now() - started, answer)
    });
    join_all(calls).await
}

/// An upstream that takes 30 s.
fn slow() -> impl Service<(), Response = (), Error = io::Error, Future: Send> + Clone {
    service_fn(async |()| {
        sleep(30.s()).await;
        Ok(())
    })
}

/// The first was served, if any was to be, and all the others heard after 30 s that they were not.
fn assert_over_after_30_s(answers: &[Answer], served: usize) {
    assert!(
        answers.iter().all(|(after, _)| *after == 30.s()),
        "{answers:?}"
    );
    for (index, (_, answer)) in answers.iter().enumerate() {
        match answer {
            Ok(()) => assert!(index < served),
            Err(error) => assert!(index >= served && error.find::<Elapsed>().is_some()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_over_the_gate_covers_the_wait_for_a_place() {
    let gate = GateLayer::new(1).hold_head();
    let service = TimeoutLayer::new(30.s()).layer(gate.layer(slow()));
    assert_over_after_30_s(&ten(service).await, 1);
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_call_covers_the_wait_for_a_place() {
    let gate = GateLayer::new(1).hold_head();
    let service = gate.layer(slow());
    let service = service_fn(
        async |()| match timeout(30.s(), service.clone().oneshot(())).await {
            Ok(answer) => answer.map_err(BoxError::from),
            Err(elapsed) => Err(elapsed.into()),
        },
    );
    let answers = ten(service).await;
    assert!(
        answers.iter().all(|(after, _)| *after == 30.s()),
        "{answers:?}"
    );
    assert_eq!(
        answers.iter().filter(|(_, answer)| answer.is_ok()).count(),
        1
    );
    assert_free(&gate.handle(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_covers_the_wait_for_a_token_and_those_who_left_have_taken_none() {
    let gate = GateLayer::new(10).pace(per_minute(1.0)).hold_head();
    let service = TimeoutLayer::new(30.s()).layer(gate.layer(slow()));
    let started = now();
    assert_over_after_30_s(&ten(service.clone()).await, 1);
    assert_eq!((gate.handle().in_flight(), gate.handle().waiting()), (0, 0));
    gate.layer(slow()).oneshot(()).await.unwrap();
    assert_eq!(now() - started, 90.s());
}

#[tokio::test(start_paused = true)]
async fn it_covers_a_pause_of_an_hour() {
    let gate = GateLayer::new(10).hold_head();
    gate.handle().pause_until((now() + 3_600.s()).into_std());
    let service = TimeoutLayer::new(30.s()).layer(gate.layer(slow()));
    assert_over_after_30_s(&ten(service).await, 0);
    gate.handle().end_pause();
    assert_free(&gate.handle(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_wait_each_attempt_and_the_whole_each_have_a_limit_of_their_own() {
    let gate = GateLayer::new(1).max_wait(20.s()).hold_head();
    let service = ServiceBuilder::new()
        .timeout(60.s())
        .layer(gate.clone())
        .timeout(25.s())
        .service(slow());
    let mut answers = ten(service).await;
    let (after, attempt) = answers.remove(0);
    assert_eq!(after, 25.s());
    assert!(attempt.unwrap_err().find::<Elapsed>().is_some());
    for (after, waited) in answers {
        assert_eq!(after, 20.s());
        let reason = RefusedReason::WaitedTooLong { max_wait: 20.s() };
        assert_eq!(waited.unwrap_err().refused().unwrap().reason, reason);
    }
    assert_free(&gate.handle(), 1);
}
