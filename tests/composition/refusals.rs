//! A refusal of ours looks like no fault of the service, nor the other way round.

use std::any::Any;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, StatusCode};
use http_body_util::Full;
use tidegate::{
    BoxError, Budget, Error, GateHandle, GateLayer, GaveUp, GaveUpReason, Jitter, KeyedLayer,
    RateLayer, Refused, RefusedReason, ResponseHead, RetryLayer, Units, errors, per_second,
};
use tidegate_testkit::{Response, Upstream};
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::now;

type Call = Request<Full<Bytes>>;
type Wrapped = BoxCloneService<Call, StatusCode, BoxError>;

const HOST: &str = "upstream.test";

fn get() -> Call {
    let uri = format!("http://{HOST}/tide");
    Request::get(uri).body(Full::default()).unwrap()
}

/// Its error is a box that has come through a buffer and a timeout.
fn wrapped<S>(service: S) -> Wrapped
where
    S: Service<Call, Response: ResponseHead, Error = Error, Future: Send> + Send + 'static,
{
    let stack = ServiceBuilder::new()
        .map_response(|response: S::Response| response.status())
        .timeout(60.s())
        .buffer(1)
        .service(service);
    BoxCloneService::new(stack)
}

/// A request that is refused, and what its caller is told.
struct Case {
    stack: Wrapped,
    /// What is in its way.
    _kept: Box<dyn Any>,
    by: &'static str,
    key: Option<&'static str>,
    reason: RefusedReason,
    retry_after_ms: Option<u64>,
    words: &'static str,
}

impl Case {
    fn of_gate(
        upstream: &Upstream,
        gate: GateLayer,
        kept: impl FnOnce(&GateHandle) -> Box<dyn Any>,
        reason: RefusedReason,
        words: &'static str,
    ) -> Self {
        let kept = kept(&gate.handle());
        let keyed = KeyedLayer::per_host(move |_| gate.clone());
        Self {
            stack: wrapped(keyed.layer(upstream.direct())),
            _kept: kept,
            by: "gate",
            key: Some(HOST),
            reason,
            retry_after_ms: None,
            words,
        }
    }

    fn retry_after_ms(mut self, millis: u64) -> Self {
        self.retry_after_ms = Some(millis);
        self
    }
}

fn at_a_gate(upstream: &Upstream) -> [Case; 6] {
    let gate = GateLayer::new;
    let taken = |gate: &GateHandle| -> Box<dyn Any> { Box::new(gate.try_acquire()) };
    let and_one_waits = |gate: &GateHandle| -> Box<dyn Any> {
        let taken = gate.try_acquire();
        let mut waits = Box::pin(gate.acquire());
        assert!(waits.as_mut().now_or_never().is_none());
        Box::new((taken, waits))
    };
    let (second, max_wait) = (1.s(), 50.ms());
    let impatient = || gate(1).max_wait(max_wait);
    [
        Case::of_gate(
            upstream,
            gate(1).max_queue(1),
            and_one_waits,
            RefusedReason::QueueFull { max_queue: 1 },
            "the queue is full (1 may wait)",
        ),
        Case::of_gate(
            upstream,
            gate(1).max_queue(0),
            taken,
            RefusedReason::QueueFull { max_queue: 0 },
            "no room now, and nobody may wait",
        ),
        Case::of_gate(
            upstream,
            impatient().pace(per_second(1.0).burst(1)),
            |gate| Box::new(gate.try_acquire().map(drop)),
            RefusedReason::WaitTooLong { max_wait },
            "its turn would not come within 50ms; try again in 1s",
        )
        .retry_after_ms(1_000),
        Case::of_gate(
            upstream,
            gate(1).longest_pause(second),
            |gate| {
                gate.cool_down_until(now().into_std() + 5.s());
                Box::new(())
            },
            RefusedReason::Paused { longest: second },
            "the service asked for quiet, for more than the 1s that anybody waits; try again in 5s",
        )
        .retry_after_ms(5_000),
        Case::of_gate(
            upstream,
            gate(1),
            |gate| {
                gate.close();
                Box::new(())
            },
            RefusedReason::Closed,
            "closed",
        ),
        // Last: time passes.
        Case::of_gate(
            upstream,
            impatient(),
            taken,
            RefusedReason::WaitedTooLong { max_wait },
            "its turn did not come within 50ms",
        ),
    ]
}

/// One that costs more than the bucket holds, after one that did; and one whose time is over while it
/// waits below a retry, which has no keys.
fn elsewhere(upstream: &Upstream) -> [Case; 2] {
    let max_wait = 50.ms();
    let rate = RateLayer::per_second(10.0).burst(10).max_wait(max_wait);
    rate.handle().try_acquire(50).unwrap();
    let keyed = KeyedLayer::per_host(move |_| rate.clone().cost(|_: &Call| 50));
    let gate = GateLayer::new(1);
    let taken = gate.handle().try_acquire();
    let retry = ServiceBuilder::new()
        .layer(RetryLayer::exponential(10.ms()..20.ms()).deadline(max_wait))
        .layer(KeyedLayer::per_host(move |_| gate.clone()));
    [
        Case {
            stack: wrapped(keyed.layer(upstream.direct())),
            _kept: Box::new(()),
            by: "rate",
            key: Some(HOST),
            reason: RefusedReason::WaitTooLong { max_wait },
            retry_after_ms: Some(5_000),
            words: "its turn would not come within 50ms; try again in 5s",
        },
        Case {
            stack: wrapped(retry.service(upstream.direct())),
            _kept: Box::new(taken),
            by: "retry",
            key: None,
            reason: RefusedReason::WaitedTooLong { max_wait },
            retry_after_ms: None,
            words: "its turn did not come within 50ms",
        },
    ]
}

async fn assert_refused(cases: impl IntoIterator<Item = Case>, upstream: &Upstream) {
    for case in cases {
        let error = case.stack.oneshot(get()).await.expect_err(case.words);
        let retry_after = case.retry_after_ms.map(Units::ms);
        let mut expected = Refused::new(case.by, case.reason).retry_after(retry_after);
        expected.key = case.key.map(Into::into);
        assert_eq!(Refused::find(&*error), Some(&expected));
        let whose = case
            .key
            .map_or_else(String::new, |key| format!(" for {key:?}"));
        let words = format!(
            "refused by {}{whose}, nothing was sent: {}",
            case.by, case.words
        );
        assert_eq!(error.to_string(), words);
        assert!(errors::not_processed(&*error) && error.source().is_none());
        assert_eq!(upstream.report().arrivals, 0, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_refusal_says_by_whom_whose_and_why_and_that_nothing_was_sent_and_nothing_was() {
    let upstream = Upstream::unlimited().start_in_process();
    assert_refused(at_a_gate(&upstream), &upstream).await;
    assert_refused(elsewhere(&upstream), &upstream).await;
}

#[tokio::test(start_paused = true)]
async fn a_real_429_is_the_response_whatever_it_came_through() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(429).header("retry-after", "7"))
        .start_in_process();
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1));
    let answer = wrapped(keyed.layer(upstream.direct())).oneshot(get()).await;
    assert_eq!(answer.unwrap(), 429);
    assert_eq!(upstream.report().arrivals, 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_is_the_response_when_the_budget_is_spent_and_says_so() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(429))
        .start_in_process();
    let retry = RetryLayer::exponential(10.ms()..20.ms()).jitter(Jitter::None);
    let retry = retry.budget(Budget::new(0.0).reserve(0.0));
    let response = retry.layer(upstream.direct()).oneshot(get()).await.unwrap();
    let gave_up = GaveUp::of(&response).unwrap();
    assert_eq!(
        (&gave_up.reason, gave_up.attempts),
        (&GaveUpReason::Budget, 1)
    );
    let words =
        "sent once and not again, since the budget of retries is spent; the last answer was 429";
    assert_eq!(gave_up.to_string(), words);
    assert_eq!(
        (response.status(), upstream.report().arrivals),
        (StatusCode::TOO_MANY_REQUESTS, 1)
    );
}
