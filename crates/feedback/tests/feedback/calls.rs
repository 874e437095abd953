use std::io;

use http::Response;
use tidegate_admission::Door;
use tidegate_classify::{Answer, Verdict};
use tidegate_core::{Cause, Error, Outcome, Refused, RefusedReason, Units};
use tidegate_feedback::FeedbackLayer;
use tidegate_gate::GateLayer;
use tokio::time::sleep;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Answered, Recorder, by_status, now, request, respond};

#[tokio::test(start_paused = true)]
async fn a_request_is_one_sample_stamped_when_it_is_sent() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), gate.handle());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(service_fn(|_| async {
            sleep(50.ms()).await;
            Ok::<_, io::Error>(respond(429))
        }));

    let call = stack.clone().oneshot(request());
    sleep(70.ms()).await;
    let origin = now();
    let response = call.await.unwrap();
    drop(response);

    let [sample] = law.samples()[..] else {
        panic!("{law:?}");
    };
    assert_eq!(sample.started, origin);
    assert_eq!(sample.latency, Some(50.ms()));
    assert_eq!(sample.outcome, Outcome::Overload(Cause::Throttled));
    assert_eq!((sample.in_flight_at_start, sample.in_flight), (1, 1));
    assert_eq!(law.heard.lock().unwrap().starts, [1]);
}

#[tokio::test]
async fn what_a_classifier_says_reaches_the_law_with_how_long_to_stay_away() {
    let law = Recorder::new(10);
    let classifier = |_: Answer<'_, Response<_>>| {
        Verdict::from(Outcome::Overload(Cause::Throttled)).retry_after(Some(3.s()))
    };
    let feedback = FeedbackLayer::new(classifier, law.clone(), Door::new("gate", 10));
    let stack = feedback.layer(service_fn(|_| async { Ok::<_, io::Error>(respond(429)) }));
    stack.oneshot(request()).await.unwrap();
    assert_eq!(law.samples()[0].retry_after, Some(3.s()));
}

#[tokio::test]
async fn an_error_is_what_the_classifier_says_and_has_no_latency() {
    let law = Recorder::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), Door::new("gate", 10));
    let stack = feedback.layer(service_fn(|_| async {
        Err::<Answered, _>(io::Error::other("reset"))
    }));
    let error = stack.oneshot(request()).await.unwrap_err();
    assert_eq!(error.find::<io::Error>().unwrap().to_string(), "reset");
    assert_eq!(law.outcomes(), [Outcome::Overload(Cause::Connection)]);
    assert_eq!(law.samples()[0].latency, None);
}

#[tokio::test]
async fn a_refusal_of_a_layer_below_is_not_counted() {
    let law = Recorder::new(10);
    let feedback = FeedbackLayer::new(by_status, law.clone(), Door::new("gate", 10));
    let stack = feedback.layer(service_fn(|_| async {
        let refused = Refused::new("rate", RefusedReason::NoRoom);
        Err::<Answered, Error>(refused.into())
    }));
    let error = stack.oneshot(request()).await.unwrap_err();
    assert_eq!(error.refused().unwrap().by, "rate");
    assert!(law.samples().is_empty());
}

#[tokio::test]
async fn a_service_without_a_body_is_watched_at_its_head() {
    let law = Recorder::new(10);
    let gate = GateLayer::new(10).hold_head();
    let classifier = |answer: Answer<'_, u32>| match answer {
        Ok(0) => Outcome::Failure,
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Ignored,
    };
    let feedback = FeedbackLayer::new(classifier, law.clone(), gate.handle()).hold_head();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(service_fn(|request: u32| async move {
            Ok::<_, io::Error>(request / 2)
        }));
    for request in [5, 1] {
        assert_eq!(stack.clone().oneshot(request).await.unwrap(), request / 2);
    }
    assert_eq!(law.outcomes(), [Outcome::Success, Outcome::Failure]);
}
