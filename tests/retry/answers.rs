//! What is sent again after which answer, and when.

use std::time::Duration;

use http::Method;
use tidegate::{Budget, GaveUp, GaveUpReason, HttpClassifier, Jitter, Outcome, RetryLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tower::{Layer, ServiceExt};

use crate::common::{answers, arrivals, gave_up, get, over, post, reason, request, retry};
use crate::support::now;

/// How long after the failure the second attempt came.
async fn came_back_after(failure: Response) -> Option<Duration> {
    let upstream = answers([failure]).start_in_process();
    over(&retry(), &upstream).oneshot(get()).await.unwrap();
    arrivals(&upstream).get(1).copied()
}

#[tokio::test(start_paused = true)]
async fn nobody_comes_back_before_the_time_that_the_service_said() {
    for (status, hint, expected) in [
        (503, None, 100),
        (503, Some("2"), 2_100),
        (429, Some("0.25"), 350),
        (429, Some("0"), 100),
        (429, Some("60"), 60_100),
        (500, Some("1"), 1_100),
    ] {
        let failure = Response::new(status);
        let failure = match hint {
            Some(hint) => failure.header("retry-after", hint),
            None => failure,
        };
        assert_eq!(
            came_back_after(failure).await,
            Some(expected.ms()),
            "{status} {hint:?}"
        );
    }
}

/// Without a memory none would be longer than three times the base. With one, that all of thirty are not
/// has a chance of one in a billion.
#[tokio::test(start_paused = true)]
async fn decorrelated_delays_grow_from_what_was_waited_last() {
    let upstream = Upstream::unlimited().fail(1.0, 503).start_in_process();
    let retry = RetryLayer::exponential(1.s()..1_000.s()).jitter(Jitter::Decorrelated);
    let retry = retry.attempts(31).budget(Budget::new(10.0).reserve(1e6));
    over(&retry, &upstream).oneshot(get()).await.unwrap();
    let arrivals = arrivals(&upstream);
    let delays = arrivals
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]));
    assert!(delays.max().unwrap() > 4.s());
}

#[tokio::test(start_paused = true)]
async fn only_failures_that_may_pass_are_sent_again() {
    for status in [408, 429, 500, 502, 503, 504, 507, 520, 529] {
        assert!(
            came_back_after(Response::new(status)).await.is_some(),
            "{status}"
        );
    }
    for status in [
        200, 204, 301, 400, 401, 403, 404, 409, 413, 425, 501, 505, 511,
    ] {
        assert_eq!(
            came_back_after(Response::new(status)).await,
            None,
            "{status}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_and_a_callers_mistake_say_nothing_of_giving_up() {
    for status in [200, 404, 501] {
        let upstream = answers([Response::new(status)]).start_in_process();
        let response = over(&retry(), &upstream).oneshot(get()).await.unwrap();
        assert!(GaveUp::of(&response).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_above_the_cap_is_told_at_once() {
    let day = Response::new(429).header("retry-after", "86400");
    let upstream = answers([day]).start_in_process();
    let started = now();
    let answer = over(&retry(), &upstream).oneshot(get()).await;
    assert_eq!((now() - started, upstream.report().arrivals), (0.s(), 1));
    let gave_up = gave_up(&answer);
    let max_hint = 60.s();
    assert_eq!(gave_up.reason, GaveUpReason::HintTooLong { max_hint });
    assert_eq!(gave_up.retry_after, Some(86_400.s()));
    assert_eq!(
        gave_up.to_string(),
        "sent once and not again, since a wait of more than 60s was asked for; \
         the last answer was 429; try again in 86400s"
    );
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_is_asked_once() {
    for body in [
        r#"{"error":{"code":"insufficient_quota"}}"#,
        r#"{"error":{"message":"Quota exceeded, limit: 0, model: tide"}}"#,
        r#"{"error":"out of tides"}"#,
    ] {
        let upstream = answers([Response::new(429).body(body)]).start_in_process();
        let retry = retry().exhausted_if(|body| body.ends_with(br#""out of tides"}"#));
        let answer = over(&retry, &upstream).oneshot(post()).await;
        let gave_up = answer.as_ref().unwrap_err().find::<GaveUp>().unwrap();
        assert_eq!(gave_up.reason, GaveUpReason::QuotaExhausted);
        assert_eq!(
            (gave_up.attempts, gave_up.status),
            (1, Some(429.try_into().unwrap()))
        );
        assert_eq!(gave_up.body, body);
        assert_eq!(upstream.report().arrivals, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_sent_again() {
    let busy =
        Response::new(429).body(r#"{"error":{"message":"Limit: 20, limit: 0.5 per second"}}"#);
    let upstream = answers([busy]).start_in_process();
    let answer = over(&retry(), &upstream).oneshot(post()).await;
    assert_eq!(
        (
            answer.unwrap().status().as_u16(),
            upstream.report().arrivals
        ),
        (200, 2)
    );
}

/// What was paid for the attempt that was then not made is there for another.
#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_costs_nothing_of_the_budget() {
    let failure = Response::new(429).body("insufficient_quota");
    let upstream = answers(vec![failure; 9]).start_in_process();
    let budget = Budget::new(0.0).reserve(0.1);
    let stack = retry().budget(budget.clone()).layer(upstream.direct());
    for _ in 0..3 {
        let answer = stack.clone().oneshot(get()).await;
        assert_eq!(reason(&answer), GaveUpReason::QuotaExhausted);
    }
    assert_eq!(budget.left().to_string(), "1");
}

#[tokio::test(start_paused = true)]
async fn the_words_of_a_quota_mean_nothing_in_another_failure() {
    let upstream = answers([Response::new(503).body("LIMIT 9 OFFSET limit: 0")]).start_in_process();
    let answer = over(&retry(), &upstream).oneshot(get()).await;
    assert_eq!(
        (
            answer.unwrap().status().as_u16(),
            upstream.report().arrivals
        ),
        (200, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_may_forbid_another_attempt_but_not_allow_one() {
    for (method, status, said, sent) in [
        (Method::GET, 503, "false", 1),
        (Method::GET, 503, "true", 2),
        (Method::POST, 503, "true", 1),
        (Method::POST, 429, "false", 1),
    ] {
        for name in ["x-should-retry", "stripe-should-retry"] {
            let upstream = answers([Response::new(status).header(name, said)]).start_in_process();
            let answer = over(&retry(), &upstream)
                .oneshot(request(method.clone()))
                .await;
            assert_eq!(upstream.report().arrivals, sent, "{method} {said}");
            if said == "false" {
                assert_eq!(reason(&answer), GaveUpReason::ToldNotTo);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_may_say_what_proves_that_nothing_was_processed() {
    for (unprocessed, status, sent) in [
        (vec![429], 503, 1),
        (vec![429, 503], 503, 2),
        (vec![503], 429, 1),
    ] {
        let upstream = answers([Response::new(status)]).start_in_process();
        let retry = retry().unprocessed(unprocessed);
        let answer = over(&retry, &upstream).oneshot(post()).await;
        assert_eq!(upstream.report().arrivals, sent);
        if sent == 1 {
            assert_eq!(reason(&answer), GaveUpReason::MayBeProcessed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_by_post_can_be_marked_as_harmless() {
    let upstream = answers([Response::new(503)]).start_in_process();
    let retry = retry().repeat_if(|method, path, _| method == Method::POST && path == "/tide");
    over(&retry, &upstream).oneshot(post()).await.unwrap();
    assert_eq!(upstream.report().arrivals, 2);
}

#[tokio::test(start_paused = true)]
async fn the_classifier_says_what_is_a_failure() {
    let upstream = answers([Response::new(404)]).start_in_process();
    let classifier = HttpClassifier::default().status(404, Outcome::Failure);
    let stack = retry().classifier(classifier).layer(upstream.direct());
    let response = stack.oneshot(get()).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), upstream.report().arrivals),
        (200, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn after_the_last_attempt_its_answer_is_the_callers() {
    let upstream = answers(vec![Response::new(503).body("busy"); 9]).start_in_process();
    let answer = over(&retry(), &upstream).oneshot(get()).await;
    assert_eq!(reason(&answer), GaveUpReason::Attempts { attempts: 3 });
    let body = http_body_util::BodyExt::collect(answer.unwrap().into_body()).await;
    assert_eq!(body.unwrap().to_bytes(), "busy");
    assert_eq!(arrivals(&upstream), [0, 100, 300].map(|ms: u64| ms.ms()));
}
