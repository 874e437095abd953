//! No attempt begins that could not end in time, and none goes on beyond it.

use std::time::Duration;

use futures_util::future::join_all;
use http::StatusCode;
use tidegate::{
    AttemptTimedOut, Budget, Cause, GateLayer, GaveUp, GaveUpReason, Jitter, Outcome, RetryLayer,
    Units, errors,
};
use tidegate_testkit::{Fault, Fixed, Response, Upstream};
use tower::{ServiceBuilder, ServiceExt};

use crate::common::{answers, arrivals, gave_up, get, over, reason, retry};
use crate::support::{assert_free, now};

fn busy() -> Response {
    Response::new(429)
}

#[tokio::test(start_paused = true)]
async fn a_back_off_longer_than_the_deadline_is_not_begun() {
    let upstream = answers([busy()]).start_in_process();
    let retry = RetryLayer::exponential(3.s()..3.s())
        .floor(3.s())
        .deadline(1.s());
    let started = now();
    let answer = over(&retry, &upstream).oneshot(get()).await;
    assert_eq!(now() - started, Duration::ZERO);
    assert_eq!(answer.as_ref().unwrap().status(), 429);
    let deadline = 1.s();
    assert_eq!(reason(&answer), GaveUpReason::Deadline { deadline });
    assert_eq!(upstream.report().arrivals, 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_shorter_than_the_hint_fails_at_once_with_the_hint() {
    for (hint, deadline) in [("5", 5_000.ms()), ("5", 3.s()), ("40", 30.s())] {
        let upstream = answers([busy().header("retry-after", hint)]).start_in_process();
        let started = now();
        let answer = over(&retry().deadline(deadline), &upstream)
            .oneshot(get())
            .await;
        assert_eq!(now() - started, Duration::ZERO);
        let gave_up = gave_up(&answer);
        assert_eq!(gave_up.reason, GaveUpReason::Deadline { deadline });
        assert_eq!(gave_up.retry_after, Some(hint.parse::<u64>().unwrap().s()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_back_off_that_ends_just_at_the_deadline_is_not_begun() {
    let upstream = Upstream::unlimited().fail(1.0, 503).start_in_process();
    let retry = RetryLayer::exponential(1.s()..1.s()).floor(1.s());
    let retry = retry.attempts(u32::MAX).deadline(5.s());
    let started = now();
    let answer = over(&retry, &upstream).oneshot(get()).await;
    assert_eq!(now() - started, 4.s());
    assert_eq!(arrivals(&upstream), [0, 1, 2, 3, 4].map(|s: u64| s.s()));
    assert_eq!(gave_up(&answer).attempts, 5);
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_gets_what_is_left_of_the_deadline() {
    let upstream = Upstream::unlimited()
        .script(|_, _| Fault::Silence)
        .start_in_process();
    let retry = retry().attempts(10).attempt_timeout(2.s()).deadline(5.s());
    let started = now();
    let answer = over(&retry, &upstream).oneshot(get()).await;
    assert_eq!(now() - started, 5.s());
    assert_eq!(arrivals(&upstream), [0.ms(), 2_100.ms(), 4_300.ms()]);
    let error = answer.as_ref().unwrap_err();
    assert_eq!(error.find::<AttemptTimedOut>().unwrap().after(), 700.ms());
    assert_eq!(errors::outcome(error), Outcome::Overload(Cause::TimedOut));
    let deadline = 5.s();
    assert_eq!(reason(&answer), GaveUpReason::Deadline { deadline });
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_needs_more_than_is_left_is_not_begun() {
    let upstream = Upstream::unlimited().fail(1.0, 503).start_in_process();
    let retry = RetryLayer::exponential(1.s()..1.s()).floor(1.s());
    let retry = retry.attempts(9).deadline(5.s()).attempt_needs(2.s());
    let answer = over(&retry, &upstream).oneshot(get()).await;
    assert_eq!(arrivals(&upstream), [0, 1, 2].map(|s: u64| s.s()));
    assert_eq!(gave_up(&answer).attempts, 3);

    let never = retry.deadline(2.s());
    let answer = over(&never, &upstream).oneshot(get()).await;
    assert_eq!(
        (gave_up(&answer).attempts, upstream.report().arrivals),
        (0, 3)
    );
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_the_wait_for_a_gate() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(20.s()))
        .start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(retry().deadline(30.s()))
        .layer(gate)
        .service(upstream.direct());
    let started = now();
    let calls = (0..10).map(async |_| {
        let answer = stack.clone().oneshot(get()).await;
        (answer.is_ok(), now() - started)
    });
    let ended = join_all(calls).await;
    assert_eq!(ended[0], (true, 20.s()));
    assert!(
        ended[1..].iter().all(|ended| *ended == (false, 30.s())),
        "{ended:?}"
    );
    assert_free(&handle, 1);
}

/// The next attempt would have come in time, had the failure's body not stalled.
#[tokio::test(start_paused = true)]
async fn reading_the_rest_of_a_failure_ends_at_the_deadline() {
    let stalls = Response::new(503).chunk("busy").pause(3_600.s());
    let upstream = answers([Response::new(503).after(950.ms()), stalls]).start_in_process();
    let retry = RetryLayer::exponential(10.ms()..10.ms()).jitter(Jitter::None);
    let budget = Budget::new(10.0).reserve(0.0);
    let retry = retry.deadline(1.s()).budget(budget.clone());
    let started = now();
    let answer = over(&retry, &upstream).oneshot(get()).await;
    assert_eq!(now() - started, 1.s());
    assert_eq!(arrivals(&upstream), [0.ms(), 960.ms()]);
    let gave_up = answer.as_ref().unwrap_err().find::<GaveUp>().unwrap();
    assert_eq!(
        (gave_up.attempts, gave_up.status),
        (2, Some(StatusCode::SERVICE_UNAVAILABLE))
    );
    // Of ten one was spent, the other was given back; and a second has passed.
    assert_eq!(budget.left().to_string(), "8.1");
}

#[tokio::test(start_paused = true)]
async fn whatever_chance_says_nothing_is_sent_at_the_deadline_or_later() {
    let upstream = Upstream::unlimited()
        .script(|_, nth| match nth % 7 {
            0 => busy().header("retry-after", "0.4").into(),
            1 => Fault::Silence.into(),
            _ => tidegate_testkit::Act::from(Response::new(503)),
        })
        .start_in_process();
    let retry = RetryLayer::exponential(10.ms()..1.s()).attempts(100);
    let retry = retry.attempt_timeout(300.ms()).deadline(2.s());
    let retry = retry.budget(Budget::new(10.0).reserve(1e6));
    let started = now();
    let stack = ServiceBuilder::new()
        .layer(retry)
        .service(upstream.direct());
    let ended = join_all((0..200).map(async |_| {
        drop(stack.clone().oneshot(get()).await);
        now() - started
    }));
    assert!(ended.await.into_iter().all(|ended| ended <= 2.s()));
    let arrivals = arrivals(&upstream);
    assert!(arrivals.len() > 1_000, "{}", arrivals.len());
    assert!(arrivals.into_iter().all(|at| at < 2.s()));
}
