//! Each clause of `Service`, over one that is strict about them.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, poll_fn};
use http::{Request, Response};
use http_body_util::Full;
use tidegate::{Budget, GateLayer, RetryLayer, Units};
use tidegate_testkit::{Fixed, Upstream};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::common::{arrivals, get, retry};
use crate::strict::{Strict, StrictError};
use crate::support::{assert_free, now};

/// Speaks HTTP.
#[derive(Clone)]
struct Http(Strict);

impl Service<Request<Full<Bytes>>> for Http {
    type Response = Response<Full<Bytes>>;
    type Error = StrictError;
    type Future = BoxFuture<'static, Result<Self::Response, StrictError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StrictError>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, _: Request<Full<Bytes>>) -> Self::Future {
        let answer = self.0.call("tide".into());
        answer
            .map(|answer| Ok(Response::new(vec![answer?].len().to_string().into())))
            .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_goes_to_a_clone_that_was_ready_for_it() {
    for strict in [Strict::default(), Strict::ready_at_once()] {
        strict.fail_next_calls(2);
        let mut stack = retry().layer(Http(strict.clone()));
        assert_eq!(stack.get_ref().0.calls(), 0);
        poll_fn(|context| stack.poll_ready(context)).await.unwrap();
        stack.call(get()).await.unwrap();
        assert_eq!(strict.calls(), 3);
        // Not having been asked for readiness is no offence here.
        stack.call(get()).await.unwrap();
        assert_eq!(strict.calls(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_cannot_get_ready_is_a_failed_attempt() {
    let strict = Strict::default();
    strict.break_readiness(true);
    let started = now();
    let error = retry()
        .layer(Http(strict.clone()))
        .oneshot(get())
        .await
        .unwrap_err();
    assert_eq!(error.find(), Some(&StrictError::NotReady));
    assert_eq!((strict.calls(), now() - started), (0, 300.ms()));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_nobody_polls_does_nothing() {
    let budget = Budget::new(1.0).reserve(0.0);
    let strict = Strict::default();
    drop(
        retry()
            .budget(budget.clone())
            .layer(Http(strict.clone()))
            .call(get()),
    );
    assert_eq!((strict.calls(), budget.left()), (0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn one_dropped_while_it_backs_off_sends_nothing_more() {
    let upstream = Upstream::unlimited().fail(1.0, 503).start_in_process();
    let call = retry().layer(upstream.direct()).oneshot(get());
    tokio::time::timeout(50.ms(), call).await.unwrap_err();
    tokio::time::sleep(10.s()).await;
    assert_eq!(arrivals(&upstream), [0.s()]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_took_too_long_is_dropped_and_frees_its_place() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(10.s()))
        .start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(retry().attempt_timeout(1.s()).floor(1.s()))
        .layer(gate)
        .service(upstream.direct());
    let mut call = pin!(stack.oneshot(get()));
    tokio::time::timeout(1_500.ms(), call.as_mut())
        .await
        .unwrap_err();
    assert_eq!(upstream.report().cancelled, 1);
    assert_free(&handle, 1);
    call.as_mut().await.unwrap_err();
    // The future is over and still here.
    assert_free(&handle, 1);
    assert_eq!(upstream.report().cancelled, 3);
}

#[test]
fn without_a_deadline_and_without_a_failure_no_runtime_is_needed() {
    let strict = tower::service_fn(|_: Request<Full<Bytes>>| {
        std::future::ready(Ok::<_, std::io::Error>(Response::new(
            Full::<Bytes>::default(),
        )))
    });
    let mut call = pin!(
        RetryLayer::exponential(1.s()..2.s())
            .layer(strict)
            .call(get())
    );
    let answer = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(answer.is_ready());
}
