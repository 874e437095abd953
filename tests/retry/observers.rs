//! Who hears of retries.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tidegate::{Budget, GateLayer, GaveUp, Observer, RetryLayer, Units};
use tidegate_testkit::{Fault, Response, Upstream};
use tokio::time::timeout;
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::common::{answers, get, over, post, reason, retry};

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<(u32, Duration)>>);

/// Why calls were given up, and how often they were sent.
#[derive(Debug, Default)]
struct GaveUps(Mutex<Vec<(&'static str, u32)>>);

impl Observer for GaveUps {
    fn on_gave_up(&self, _: Instant, why: &'static str, sent: u32) {
        self.0.lock().unwrap().push((why, sent));
    }
}

impl GaveUps {
    fn take(&self) -> Vec<(&'static str, u32)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Heard {
    fn on_retry(&self, _: Instant, attempt: u32, after: Duration) {
        self.0.lock().unwrap().push((attempt, after));
    }
}

fn failing() -> Upstream {
    answers([Response::new(503), Response::new(503)]).start_in_process()
}

#[tokio::test(start_paused = true)]
async fn each_retry_is_told_with_its_number_and_its_delay_in_both_forms() {
    let (heard, upstream) = (Arc::new(Heard::default()), failing());
    let retry = || retry().observe(Arc::clone(&heard) as _);
    let told = [
        (2, Duration::from_millis(100)),
        (3, Duration::from_millis(200)),
    ];
    let layer = retry().layer(upstream.direct());
    assert!(layer.oneshot(get()).await.unwrap().status().is_success());
    assert_eq!(*heard.0.lock().unwrap(), told);

    heard.0.lock().unwrap().clear();
    let upstream = failing();
    let policy = ServiceBuilder::new().retry(retry().policy());
    let policy = policy.service(upstream.direct());
    assert!(policy.oneshot(get()).await.unwrap().status().is_success());
    assert_eq!(*heard.0.lock().unwrap(), told);
}

/// The layer, the request, what is answered, and why that is the last.
type GivenUp = (RetryLayer, Request<Full<Bytes>>, Response, &'static str);

/// Each ends with a response to what was sent once.
fn given_up() -> [GivenUp; 6] {
    let busy = || Response::new(503);
    let unpaid = Budget::new(0.0).reserve(0.0);
    let too_long = busy().header("retry-after", "61");
    let told_not_to = busy().header("x-should-retry", "false");
    [
        (retry().attempts(1), get(), busy(), "attempts"),
        (retry().deadline(50.ms()), get(), busy(), "deadline"),
        (retry().budget(unpaid), get(), busy(), "budget"),
        (retry(), get(), too_long, "hint_too_long"),
        (retry(), post(), busy(), "may_be_processed"),
        (retry(), get(), told_not_to, "told_not_to"),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_with_a_response_is_told_once_with_why_in_both_forms() {
    for (layer, request, response, why) in given_up() {
        let heard = Arc::new(GaveUps::default());
        let layer = layer.observe(Arc::clone(&heard) as _);
        let upstream = || {
            let response = response.clone();
            let upstream = Upstream::unlimited();
            upstream
                .script(move |_, _| response.clone())
                .start_in_process()
        };
        let answer = over(&layer, &upstream()).oneshot(request.clone()).await;
        assert!(answer.is_ok());
        assert_eq!(reason(&answer).name(), why);
        assert_eq!(heard.take(), [(why, 1)]);

        let upstream = upstream();
        let policy = ServiceBuilder::new().retry(layer.policy());
        let policy = policy.service(upstream.direct());
        policy.oneshot(request).await.unwrap();
        assert_eq!(heard.take(), [(why, 1)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_told_as_well_that_ends_after_retries_or_with_an_error() {
    let heard = Arc::new(GaveUps::default());
    let retry = || retry().observe(Arc::clone(&heard) as _);

    let silent = Upstream::unlimited()
        .script(|_, _| Fault::Silence)
        .start_in_process();
    let answer = over(&retry().deadline(1.s()), &silent).oneshot(get()).await;
    assert_eq!(reason(&answer).name(), "deadline");
    assert_eq!(heard.take(), [("deadline", 1)]);

    let retries = retry().attempts(3);
    let broken = Upstream::unlimited().fail(1.0, 503).start_in_process();
    let answer = over(&retries, &broken).oneshot(get()).await;
    assert_eq!(reason(&answer).name(), "attempts");
    assert_eq!(heard.take(), [("attempts", 3)]);

    let spent = Response::new(429).body(r#"{"error":{"code":"insufficient_quota"}}"#);
    let spent = answers([spent]).start_in_process();
    let answer = over(&retry(), &spent).oneshot(get()).await;
    assert_eq!(reason(&answer).name(), "quota_exhausted");
    assert_eq!(heard.take(), [("quota_exhausted", 1)]);

    // It is sent once, and the door is closed before the retry.
    let (gate, upstream) = (GateLayer::new(1), failing());
    let closes = gate.handle();
    let stack = ServiceBuilder::new().layer(retry()).layer(gate);
    let stack = stack.map_response(move |response| {
        closes.close();
        response
    });
    let answer = stack.service(upstream.direct()).oneshot(get()).await;
    let gave_up: &GaveUp = answer.as_ref().unwrap_err().find().unwrap();
    assert_eq!(gave_up.reason.name(), "refused");
    assert_eq!(heard.take(), [("refused", 1)]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_where_nothing_is_to_be_sent_again() {
    let heard = Arc::new(GaveUps::default());
    let retry = || retry().observe(Arc::clone(&heard) as _);
    for status in [200, 404, 501] {
        let upstream = answers([Response::new(status)]).start_in_process();
        let response = over(&retry(), &upstream).oneshot(get()).await.unwrap();
        assert_eq!(response.status(), status);
    }
    let gate = GateLayer::new(1);
    gate.handle().close();
    let refused = ServiceBuilder::new().layer(retry()).layer(gate);
    let answer = refused.service(failing().direct()).oneshot(get()).await;
    assert!(answer.unwrap_err().refused().is_some());
    // Its caller does not wait for the first retry.
    let (retry, upstream) = (retry(), failing());
    let call = over(&retry, &upstream).oneshot(get());
    assert!(timeout(50.ms(), call).await.is_err());
    assert_eq!(heard.take(), []);
}
