use std::io;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use http::Request;
use tidegate_control::Aimd;
use tidegate_core::{Cause, Outcome, Units};
use tidegate_feedback::FeedbackLayer;
use tidegate_gate::GateLayer;
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Answered, Recorder, by_status, request, respond};

/// Answers after as long as the request says.
async fn after(request: Request<Duration>) -> io::Result<Answered> {
    sleep(*request.body()).await;
    Ok(respond(200))
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_early_says_nothing_and_one_that_leaves_late_timed_out() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), gate.handle());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service_fn(after);

    stack.clone().oneshot(Request::new(50.ms())).await.unwrap();
    for patience in [100.ms(), 101.ms()] {
        let call = stack.clone().oneshot(Request::new(60.s()));
        assert!(timeout(patience, call).await.is_err());
    }
    let late = Outcome::Overload(Cause::TimedOut);
    assert_eq!(law.outcomes(), [Outcome::Success, Outcome::Ignored, late]);
    assert_eq!(law.samples()[2].latency, None);
}

#[tokio::test(start_paused = true)]
async fn what_is_late_can_be_set() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), gate.handle()).late_after(5.s());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service_fn(after);
    for patience in [5.s(), 5_001.ms()] {
        let call = stack.clone().oneshot(Request::new(60.s()));
        assert!(timeout(patience, call).await.is_err());
    }
    let late = Outcome::Overload(Cause::TimedOut);
    assert_eq!(law.outcomes(), [Outcome::Ignored, late]);
}

#[tokio::test]
async fn a_future_that_nobody_polled_was_not_sent() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), gate.handle());
    let mut service = feedback.layer(service_fn(after));
    let service = service.ready().await.unwrap();
    drop(service.call(Request::new(1.s())));
    assert!(law.samples().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_whole_stack_backs_off_from_an_upstream_that_stalls() {
    for (patience, limit) in [(10.s(), 1), (100.ms(), 100)] {
        let gate = GateLayer::new(1);
        let law = Aimd::new().start(100);
        let feedback = FeedbackLayer::new(by_status, law, gate.handle());
        let handle = feedback.handle();
        let stalled = service_fn(|_: Request<()>| async {
            sleep(Duration::MAX).await;
            Ok::<_, io::Error>(respond(200))
        });
        let stack = ServiceBuilder::new()
            .layer(gate)
            .layer(feedback)
            .service(stalled);
        for _ in 0..10 {
            let calls = (0..100).map(|_| timeout(patience, stack.clone().oneshot(request())));
            let calls: Vec<_> = calls.map(tokio::spawn).collect();
            for call in calls {
                assert!(call.await.unwrap().is_err());
            }
        }
        assert_eq!(handle.limit(), limit, "a patience of {patience:?}");
        assert_eq!(handle.in_flight(), 0);
    }
}

/// The time stands still, since a panic takes some where a backtrace is wanted.
#[tokio::test(start_paused = true)]
async fn a_service_that_panics_is_counted_once_and_its_place_is_free() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10);
    let handle = gate.handle();
    let feedback = FeedbackLayer::new(by_status, law.clone(), gate.handle());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service_fn(|_: Request<()>| async {
            assert_eq!(handle.in_flight(), 0, "as the test asks");
            Ok::<_, io::Error>(respond(200))
        });
    let call = AssertUnwindSafe(stack.oneshot(request()));
    assert!(call.catch_unwind().await.is_err());
    assert_eq!(law.outcomes(), [Outcome::Ignored]);
    assert_eq!(handle.in_flight(), 0);
}
