//! What is said of a request that a layer below did not let through: whether it was sent, and how often.

use std::time::Duration;

use axum::response::IntoResponse;
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use tidegate::{
    Budget, Error, GateLayer, GaveUp, GaveUpReason, Jitter, RateLayer, Refused, RefusedReason,
    RetryLayer, Units, per_minute, per_second,
};
use tidegate_testkit::{Fault, Fixed, Response, Upstream};
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{arrivals, get, post};
use crate::support::now;

fn quick() -> RetryLayer {
    RetryLayer::exponential(10.ms()..20.ms()).jitter(Jitter::None)
}

/// One request per second, and nobody waits for more than 50 ms.
fn impatient() -> GateLayer {
    GateLayer::new(2).pace(per_second(1.0)).max_wait(50.ms())
}

/// One request in ten seconds.
fn slow() -> GateLayer {
    GateLayer::new(2).pace(per_minute(6.0))
}

fn keyed_post() -> Request<Full<Bytes>> {
    let mut post = post();
    let key = HeaderValue::from_static("tide-1");
    post.headers_mut().insert("idempotency-key", key);
    post
}

fn failing() -> Upstream {
    Upstream::unlimited()
        .script(|_, _| Response::new(503).body("busy"))
        .start_in_process()
}

#[track_caller]
fn assert_not_sent(error: Error, by: &str, reason: &RefusedReason) {
    let refused = error.refused().unwrap();
    assert_eq!((refused.by, &refused.reason), (by, reason));
    assert_eq!(error.into_response().status(), 503);
}

#[tokio::test(start_paused = true)]
async fn a_refused_retry_does_not_replace_the_answer_to_what_was_sent() {
    let upstream = failing();
    let budget = Budget::new(0.0).reserve(0.1);
    let stack = ServiceBuilder::new()
        .layer(quick().budget(budget.clone()))
        .layer(impatient())
        .service(upstream.direct());
    let error = stack.oneshot(keyed_post()).await.unwrap_err();
    assert_eq!(upstream.report().arrivals, 1);
    assert!(error.refused().is_none());
    assert_eq!(
        error.to_string(),
        "sent once and not again, since the retry was refused by gate: its turn would not come \
         within 50ms; the last answer was 503; try again in 990ms"
    );
    let gave_up: &GaveUp = error.find().unwrap();
    let max_wait = 50.ms();
    let refused =
        Refused::new("gate", RefusedReason::WaitTooLong { max_wait }).retry_after(Some(990.ms()));
    assert_eq!(gave_up.reason, GaveUpReason::Refused(refused));
    assert_eq!((gave_up.attempts, gave_up.retry_after), (1, Some(990.ms())));
    assert_eq!(gave_up.status, Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(gave_up.body, "busy");
    // What was paid for the retry is there for another.
    assert_eq!(budget.left().to_string(), "1");
    assert_eq!(error.into_response().status(), 502);
}

#[tokio::test(start_paused = true)]
async fn also_where_refusals_are_tried_again() {
    let upstream = failing();
    let stack = ServiceBuilder::new()
        .layer(quick().retry_refusals().attempts(3).deadline(600.ms()))
        .layer(impatient())
        .service(upstream.direct());
    let error = stack.oneshot(get()).await.unwrap_err();
    let gave_up: &GaveUp = error.find().unwrap();
    assert!(matches!(gave_up.reason, GaveUpReason::Refused(_)));
    assert_eq!((gave_up.attempts, upstream.report().arrivals), (1, 1));
    assert!(error.refused().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_error_of_what_was_sent_is_the_source_of_that_of_the_refused_retry() {
    let upstream = Upstream::unlimited()
        .script(|_, _| Fault::Silence)
        .start_in_process();
    let stack = ServiceBuilder::new()
        .layer(quick().attempt_timeout(100.ms()))
        .layer(impatient())
        .service(upstream.direct());
    let error = stack.oneshot(get()).await.unwrap_err();
    assert!(error.find::<tidegate::AttemptTimedOut>().is_some());
    assert!(error.refused().is_none());
    let gave_up: &GaveUp = error.find().unwrap();
    assert!(matches!(&gave_up.reason, GaveUpReason::Refused(refused) if refused.by == "gate"));
    assert_eq!((gave_up.attempts, upstream.report().arrivals), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_is_shed_does_not_replace_the_answer_either() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(1.s()))
        .script(|_, nth| (nth == 0).then(|| Response::new(503)))
        .start_in_process();
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::exponential(1.s()..1.s()).jitter(Jitter::None))
        .load_shed()
        .concurrency_limit(1)
        .service(upstream.direct());
    let first = tokio::spawn(stack.clone().oneshot(get()));
    tokio::time::sleep(1_500.ms()).await;
    let second = tokio::spawn(stack.oneshot(get()));
    let error = first.await.unwrap().unwrap_err();
    second.await.unwrap().unwrap();
    assert!(error.find::<Overloaded>().is_none());
    let gave_up: &GaveUp = error.find().unwrap();
    assert!(matches!(&gave_up.reason, GaveUpReason::Refused(refused) if refused.by == "load-shed"));
    assert_eq!(gave_up.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_that_is_refused_is_the_refusal_itself() {
    let upstream = Upstream::unlimited().start_in_process();
    let stack = quick().layer(impatient().layer(upstream.direct()));
    stack.clone().oneshot(get()).await.unwrap();
    let error = stack.oneshot(get()).await.unwrap_err();
    assert!(error.find::<GaveUp>().is_none());
    assert_eq!(error.refused().unwrap().retry_after, Some(1.s()));
    let max_wait = 50.ms();
    assert_not_sent(error, "gate", &RefusedReason::WaitTooLong { max_wait });
}

/// The first call is served; the second ends after `max_wait`, and does not arrive.
async fn assert_second_is_not_sent<S>(stack: S, upstream: &Upstream, max_wait: Duration)
where
    S: Service<Request<Full<Bytes>>, Error = Error> + Clone,
    S::Response: std::fmt::Debug,
{
    let before = upstream.report().arrivals;
    stack.clone().oneshot(get()).await.unwrap();
    let started = now();
    let error = stack.oneshot(get()).await.unwrap_err();
    assert_eq!(now() - started, max_wait);
    assert_eq!(upstream.report().arrivals, before + 1);
    assert_not_sent(error, "retry", &RefusedReason::WaitedTooLong { max_wait });
}

/// In a gate, a rate, a gate that has let it through to another one, and below a second retry.
#[tokio::test(start_paused = true)]
async fn what_waits_in_a_layer_until_its_time_is_over_was_not_sent() {
    let upstream = Upstream::unlimited().start_in_process();
    let (deadline, timeout) = (300.ms(), 100.ms());
    for (retry, max_wait) in [
        (quick().deadline(deadline), deadline),
        (quick().attempt_timeout(timeout).deadline(deadline), timeout),
        (quick().attempt_timeout(timeout), timeout),
    ] {
        let stack = || ServiceBuilder::new().layer(retry.clone());
        let rate = RateLayer::new(per_minute(6.0));
        let in_gate = stack().layer(slow()).service(upstream.direct());
        let paced = stack().layer(rate).service(upstream.direct());
        let in_second = stack().layer(GateLayer::new(9)).layer(slow());
        let in_second = in_second.service(upstream.direct());
        let below_retry = stack().layer(quick()).layer(slow());
        let below_retry = below_retry.service(upstream.direct());
        assert_second_is_not_sent(in_gate, &upstream, max_wait).await;
        assert_second_is_not_sent(paced, &upstream, max_wait).await;
        assert_second_is_not_sent(in_second, &upstream, max_wait).await;
        assert_second_is_not_sent(below_retry, &upstream, max_wait).await;
    }
}

/// Also where a gate let it through to that service.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_service_that_is_not_ready_was_not_sent() {
    let upstream = Upstream::unlimited().start_in_process();
    let max_wait = 300.ms();
    let stack = || ServiceBuilder::new().layer(quick().deadline(max_wait));
    let nobody = GlobalConcurrencyLimitLayer::new(0);
    let alone = stack().layer(nobody.clone()).service(upstream.direct());
    let below_gate = stack().layer(GateLayer::new(9)).layer(nobody.clone());
    let below_gate = below_gate.service(upstream.direct());
    let paced = stack().layer(RateLayer::new(per_second(9.0))).layer(nobody);
    let paced = paced.service(upstream.direct());
    let reason = RefusedReason::WaitedTooLong { max_wait };
    let errors = [
        alone.oneshot(get()).await.unwrap_err(),
        below_gate.oneshot(get()).await.unwrap_err(),
        paced.oneshot(get()).await.unwrap_err(),
    ];
    for error in errors {
        assert_not_sent(error, "retry", &reason);
    }
    assert_eq!(arrivals(&upstream), []);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_waits_in_a_gate_at_the_deadline_is_not_counted() {
    let upstream = failing();
    let budget = Budget::new(0.0).reserve(0.1);
    let stack = ServiceBuilder::new()
        .layer(quick().deadline(300.ms()).budget(budget.clone()))
        .layer(slow())
        .service(upstream.direct());
    let error = stack.oneshot(get()).await.unwrap_err();
    assert!(error.refused().is_none());
    assert_eq!(
        error.to_string(),
        "sent once and not again, since all has to end within 300ms; the last answer was 503"
    );
    assert_eq!(error.find::<GaveUp>().unwrap().body, "busy");
    assert_eq!(upstream.report().arrivals, 1);
    assert_eq!(budget.left().to_string(), "1");
}

/// It has passed a foreign wait first, of which nobody knows what was sent in it.
#[tokio::test(start_paused = true)]
async fn what_may_have_been_sent_is_not_said_to_have_waited() {
    let upstream = Upstream::unlimited().start_in_process();
    let gate = slow().layer(upstream.direct());
    let slow_to_begin = service_fn(move |request| {
        let gate = gate.clone();
        async move {
            tokio::time::sleep(10.ms()).await;
            gate.oneshot(request).await
        }
    });
    let stack = quick().deadline(300.ms()).layer(slow_to_begin);
    stack.clone().oneshot(get()).await.unwrap();
    let error = stack.oneshot(get()).await.unwrap_err();
    assert!(error.refused().is_none());
    assert_eq!(error.find::<GaveUp>().unwrap().attempts, 1);
}

/// Told to try refusals again: nothing was sent in any of them.
#[tokio::test(start_paused = true)]
async fn refused_again_and_again_it_was_never_sent() {
    let upstream = Upstream::unlimited().start_in_process();
    let gate = impatient();
    gate.handle().close();
    let stack = quick()
        .retry_refusals()
        .layer(gate.layer(upstream.direct()));
    let error = stack.oneshot(get()).await.unwrap_err();
    assert_eq!(error.to_string(), "not sent, since it may be sent 3 times");
    assert_eq!(error.find::<GaveUp>().unwrap().attempts, 0);
    assert_not_sent(error, "gate", &RefusedReason::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_leaves_no_time_at_all_is_a_refusal() {
    let upstream = Upstream::unlimited().start_in_process();
    let retry = quick().deadline(2.s()).attempt_needs(2.s());
    let error = retry.layer(upstream.direct()).oneshot(get()).await;
    let max_wait = 2.s();
    let reason = RefusedReason::WaitTooLong { max_wait };
    assert_not_sent(error.unwrap_err(), "retry", &reason);
    assert_eq!(arrivals(&upstream), []);
}
