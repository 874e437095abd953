//! A gate under and over other layers: the contract of `Service`, errors, timeouts.

#[path = "support/strict.rs"]
mod strict;
mod support;

use std::error::Error as StdError;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Ready, join_all, ready};
use futures_util::task::noop_waker_ref;
use http_body_util::Full;
use tidegate::{
    BoxError, Error, GateHandle, GateLayer, HoldHead, Refused, RefusedReason, Units, per_hour,
    per_minute,
};
use tokio::time::{sleep, timeout};
use tower::buffer::BufferLayer;
use tower::load_shed::LoadShedLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::{Policy, RetryLayer};
use tower::timeout::TimeoutLayer;
use tower::timeout::error::Elapsed;
use tower::util::{BoxCloneService, BoxCloneSyncService};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::strict::{Strict, StrictError};
use crate::support::{assert_free, now};

const LIMIT: usize = 3;

/// A stack in which a gate of 3 stands somewhere above a [`Strict`].
struct Stack<S> {
    gate: GateHandle,
    strict: Strict,
    service: S,
}

fn stack<S>(strict: Strict, build: impl FnOnce(GateLayer<HoldHead>, Strict) -> S) -> Stack<S> {
    let gate = GateLayer::new(LIMIT).hold_head();
    Stack {
        gate: gate.handle(),
        service: build(gate, strict.clone()),
        strict,
    }
}

impl<S> Stack<S>
where
    S: Service<String, Response = usize, Error: Into<BoxError>, Future: Send> + Clone,
{
    async fn send(&self) -> Result<usize, Error> {
        let answer = self.service.clone().oneshot("tide".to_owned());
        answer.await.map_err(Error::service)
    }

    async fn serves(&self) {
        for answer in join_all((0..10).map(|_| self.send())).await {
            assert_eq!(answer.unwrap(), 4);
        }
        let mut front = self.service.clone();
        for _ in 0..3 {
            let front = front.ready().await.map_err(Error::service).unwrap();
            let answer = front.call("ebb".to_owned()).await;
            assert_eq!(answer.map_err(Error::service).unwrap(), 3);
        }
        assert_free(&self.gate, LIMIT);
    }

    async fn one_that_is_ready_and_dropped_leaves_nothing(&self) {
        let mut idle = self.service.clone();
        idle.ready().await.map_err(Error::service).unwrap();
        drop(idle);
        assert_free(&self.gate, LIMIT);
    }

    async fn no_readiness_is_an_error_and_frees_its_place(&self) {
        let calls = self.strict.calls();
        self.strict.break_readiness(true);
        let error = self.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::NotReady));
        assert_eq!(self.strict.calls(), calls);
        assert_free(&self.gate, LIMIT);
        self.strict.break_readiness(false);
    }

    async fn keeps_the_contract(&self) {
        self.serves().await;
        self.one_that_is_ready_and_dropped_leaves_nothing().await;
        self.no_readiness_is_an_error_and_frees_its_place().await;
        self.serves().await;
    }
}

/// At most three attempts, for whatever error.
#[derive(Clone, Default)]
struct ThreeAttempts {
    made: usize,
    /// What can no longer get ready after the first.
    breaks: Option<Strict>,
}

impl<E> Policy<String, usize, E> for ThreeAttempts {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut String, answer: &mut Result<usize, E>) -> Option<Ready<()>> {
        self.made += 1;
        self.breaks
            .iter()
            .for_each(|strict| strict.break_readiness(true));
        (answer.is_err() && self.made < 3).then(|| ready(()))
    }

    fn clone_request(&mut self, request: &String) -> Option<String> {
        Some(request.clone())
    }
}

fn retry() -> RetryLayer<ThreeAttempts> {
    RetryLayer::new(ThreeAttempts::default())
}

fn gate_alone() -> Stack<impl Service<String, Response = usize, Error = Error, Future: Send> + Clone>
{
    stack(Strict::default(), |gate, strict| gate.layer(strict))
}

#[tokio::test]
#[should_panic(expected = "called without having been ready")]
async fn the_strict_service_panics_when_a_fresh_clone_is_called() {
    let mut polled = Strict::default();
    polled.ready().await.unwrap();
    drop(polled.clone().call("tide".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_gate_calls_an_instance_that_has_been_ready() {
    gate_alone().keeps_the_contract().await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_timeout() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(TimeoutLayer::new(1.s()).layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        TimeoutLayer::new(1.s()).layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_retry() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(retry().layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        retry().layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_under_a_buffer() {
    stack(Strict::default(), |gate, strict| {
        BufferLayer::new(16).layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

/// A buffer whose service cannot get ready is broken for good, and so is only tried last.
#[tokio::test(start_paused = true)]
async fn so_it_does_over_a_buffer() {
    let stack = stack(Strict::default(), |gate, strict| {
        gate.layer(BufferLayer::new(16).layer(strict))
    });
    stack.serves().await;
    stack.one_that_is_ready_and_dropped_leaves_nothing().await;
    stack.no_readiness_is_an_error_and_frees_its_place().await;
    assert!(stack.send().await.is_err());
    assert_free(&stack.gate, LIMIT);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_load_shed() {
    stack(Strict::default(), |gate, strict| {
        LoadShedLayer::new().layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::ready_at_once(), |gate, strict| {
        gate.layer(LoadShedLayer::new().layer(strict))
    })
    .keeps_the_contract()
    .await;
}

/// It asks once and does not wait, as it is meant to.
#[tokio::test(start_paused = true)]
async fn a_load_shed_under_a_gate_sheds_what_is_not_ready_at_once() {
    let stack = stack(Strict::default(), |gate, strict| {
        gate.layer(LoadShedLayer::new().layer(strict))
    });
    let error = stack.send().await.unwrap_err();
    assert!(error.find::<Overloaded>().is_some());
    assert!(error.refused().is_none());
    assert_free(&stack.gate, LIMIT);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_a_boxed_service() {
    stack(Strict::default(), |gate, strict| {
        gate.layer(BoxCloneService::new(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        gate.layer(BoxCloneSyncService::new(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        BoxCloneService::new(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        BoxCloneSyncService::new(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_it_does_over_and_under_another_gate() {
    let other = GateLayer::new(2).hold_head();
    stack(Strict::default(), |gate, strict| {
        other.layer(gate.layer(strict))
    })
    .keeps_the_contract()
    .await;
    stack(Strict::default(), |gate, strict| {
        gate.layer(other.layer(strict))
    })
    .keeps_the_contract()
    .await;
    assert_free(&other.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn so_it_does_in_a_stack_of_everything() {
    stack(Strict::default(), |gate, strict| {
        ServiceBuilder::new()
            .layer(BoxCloneSyncService::layer())
            .timeout(60.s())
            .layer(retry())
            .buffer(16)
            .load_shed()
            .layer(gate)
            .timeout(5.s())
            .service(strict)
    })
    .keeps_the_contract()
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_attempt_of_a_retry_gets_ready_and_takes_its_own_permit() {
    async fn proves<S>(stack: Stack<S>)
    where
        S: Service<String, Response = usize, Error: Into<BoxError>, Future: Send> + Clone,
    {
        stack.strict.fail_next_calls(2);
        assert_eq!(stack.send().await.unwrap(), 4);
        assert_eq!(stack.strict.calls(), 3);
        stack.strict.fail_next_calls(3);
        let error = stack.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::Failed));
        assert_eq!(stack.strict.calls(), 6);
        assert_free(&stack.gate, LIMIT);
    }
    proves(stack(Strict::default(), |gate, strict| {
        retry().layer(gate.layer(strict))
    }))
    .await;
    proves(stack(Strict::default(), |gate, strict| {
        gate.layer(retry().layer(strict))
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_readiness_for_the_second_attempt_ends_it_and_frees_its_place() {
    async fn proves<S>(stack: Stack<S>)
    where
        S: Service<String, Response = usize, Error: Into<BoxError>, Future: Send> + Clone,
    {
        stack.strict.fail_next_calls(1);
        let error = stack.send().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::NotReady));
        assert_eq!(stack.strict.calls(), 1);
        assert_free(&stack.gate, LIMIT);
    }
    let breaking = |strict: &Strict| {
        RetryLayer::new(ThreeAttempts {
            made: 0,
            breaks: Some(strict.clone()),
        })
    };
    proves(stack(Strict::default(), |gate, strict| {
        breaking(&strict).layer(gate.layer(strict))
    }))
    .await;
    proves(stack(Strict::default(), |gate, strict| {
        gate.layer(breaking(&strict).layer(strict))
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_readiness_gives_permit_and_token_back_even_if_the_failed_future_is_kept() {
    let gate = GateLayer::new(1).pace(per_hour(1.0)).hold_head();
    let strict = Strict::default();
    let service = gate.layer(strict.clone());
    strict.break_readiness(true);
    let mut kept = Box::pin(service.clone().oneshot("tide".to_owned()));
    kept.as_mut().await.unwrap_err();
    strict.break_readiness(false);

    let started = now();
    assert_eq!(service.oneshot("tide".to_owned()).await.unwrap(), 4);
    assert_eq!(now() - started, 10.ms());
    drop(kept);
    assert_eq!(gate.handle().in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_gate_is_ready_when_it_is_full_and_when_the_service_below_is_not() {
    let Stack {
        gate,
        strict,
        mut service,
    } = stack(Strict::default(), |gate, strict| gate.layer(strict));
    let _permits: Vec<_> = (0..LIMIT).map(|_| gate.try_acquire().unwrap()).collect();
    strict.break_readiness(true);
    let mut context = Context::from_waker(noop_waker_ref());
    let ready = service.poll_ready(&mut context);
    assert!(matches!(ready, Poll::Ready(Ok(()))));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_was_not_polled_holds_nothing() {
    let stack = gate_alone();
    let mut service = stack.service.clone();
    let futures: Vec<_> = (0..10).map(|_| service.call("tide".to_owned())).collect();
    assert_free(&stack.gate, LIMIT);
    drop(futures);
    assert_free(&stack.gate, LIMIT);
    assert_eq!(stack.strict.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn clones_and_services_of_clones_of_a_layer_share_one_gate() {
    let gate = GateLayer::new(2).hold_head();
    let strict = Strict::default();
    let (one, other) = (gate.layer(strict.clone()), gate.clone().layer(strict));
    let started = now();
    let services = [one.clone(), one, other.clone(), other];
    join_all(services.map(|service| service.oneshot("tide".to_owned()))).await;
    assert_eq!(now() - started, 20.ms());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_leaves_the_queue_to_the_next() {
    let stack = gate_alone();
    let permits: Vec<_> = (0..LIMIT)
        .map(|_| stack.gate.try_acquire().unwrap())
        .collect();
    let mut context = Context::from_waker(noop_waker_ref());
    let mut dropped = Box::pin(stack.send());
    let mut next = pin!(stack.send());
    assert!(dropped.as_mut().poll(&mut context).is_pending());
    assert!(next.as_mut().poll(&mut context).is_pending());
    assert_eq!(stack.gate.waiting(), 2);
    drop(dropped);
    assert_eq!(stack.gate.waiting(), 1);
    drop(permits);
    assert_eq!(next.await.unwrap(), 4);
    assert_free(&stack.gate, LIMIT);
}

/// Its turn has come, and it is dropped before it is polled.
#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_with_its_grant_passes_it_on() {
    let stack = gate_alone();
    let permits: Vec<_> = (0..LIMIT)
        .map(|_| stack.gate.try_acquire().unwrap())
        .collect();
    let mut context = Context::from_waker(noop_waker_ref());
    let mut dropped = Box::pin(stack.send());
    assert!(dropped.as_mut().poll(&mut context).is_pending());
    drop(permits);
    assert_eq!(stack.gate.in_flight(), 1);
    drop(dropped);
    assert_free(&stack.gate, LIMIT);
    assert_eq!(stack.strict.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_before_the_service_is_ready_gives_permit_and_token_back() {
    let gate = GateLayer::new(1).pace(per_hour(1.0)).hold_head();
    let strict = Strict::default();
    let service = gate.layer(strict.clone());
    let mut context = Context::from_waker(noop_waker_ref());
    let mut dropped = Box::pin(service.clone().oneshot("tide".to_owned()));
    assert!(dropped.as_mut().poll(&mut context).is_pending());
    assert_eq!((gate.handle().in_flight(), strict.calls()), (1, 0));
    drop(dropped);

    let started = now();
    assert_eq!(service.oneshot("tide".to_owned()).await.unwrap(), 4);
    assert_eq!(now() - started, 10.ms());
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_in_flight_frees_its_place_and_its_token_is_spent() {
    let gate = GateLayer::new(1).pace(per_minute(1.0)).hold_head();
    let strict = Strict::default();
    let service = gate.layer(strict.clone());
    let started = now();
    let dropped = timeout(5.ms(), service.clone().oneshot("tide".to_owned())).await;
    assert!(dropped.is_err());
    assert_eq!((gate.handle().in_flight(), strict.calls()), (0, 1));
    service.oneshot("tide".to_owned()).await.unwrap();
    assert_eq!(now() - started, 60.s() + 10.ms());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_dropped_frees_its_place() {
    let gate = GateLayer::new(1);
    let service = gate.layer(service_fn(async |body: &'static str| {
        Ok::<_, io::Error>(http::Response::new(Full::<Bytes>::from(body)))
    }));
    let response = service.clone().oneshot("tide").await.unwrap();
    assert_eq!(gate.handle().in_flight(), 1);
    let (_, body) = response.into_parts();
    assert_eq!(gate.handle().in_flight(), 1);
    drop(body);
    assert_free(&gate.handle(), 1);
    let response = service.oneshot("").await.unwrap();
    assert_free(&gate.handle(), 1);
    drop(response);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_frees_its_place() {
    let gate = GateLayer::new(1).hold_head();
    let at_once = gate.layer(service_fn(|()| -> Ready<io::Result<()>> {
        panic!("in call")
    }));
    let later = gate.layer(service_fn(async |()| -> io::Result<()> {
        sleep(10.ms()).await;
        panic!("in the future")
    }));
    assert!(
        tokio::spawn(at_once.oneshot(()))
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_free(&gate.handle(), 1);
    assert!(
        tokio::spawn(later.oneshot(()))
            .await
            .unwrap_err()
            .is_panic()
    );
    assert_free(&gate.handle(), 1);
}

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

fn closed_gate() -> GateLayer<HoldHead> {
    let gate = GateLayer::new(1).hold_head();
    gate.handle().close();
    gate
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_found_through_timeouts_buffers_and_boxes() {
    async fn refusal<S>(service: S) -> Refused
    where
        S: Service<String, Response = usize, Error: Into<BoxError>>,
    {
        let error = service
            .oneshot("tide".to_owned())
            .await
            .map_err(Error::service);
        error.unwrap_err().refused().unwrap().clone()
    }
    let strict = Strict::default();
    let gate = || closed_gate().layer(strict.clone());
    let expected = Refused::new("gate", RefusedReason::Closed);

    assert_eq!(refusal(gate()).await, expected);
    assert_eq!(
        refusal(TimeoutLayer::new(1.s()).layer(gate())).await,
        expected
    );
    assert_eq!(refusal(BufferLayer::new(1).layer(gate())).await, expected);
    assert_eq!(refusal(LoadShedLayer::new().layer(gate())).await, expected);
    assert_eq!(refusal(BoxCloneService::new(gate())).await, expected);
    let everything = ServiceBuilder::new()
        .layer(BoxCloneService::layer())
        .layer(GateLayer::new(1).hold_head())
        .buffer(1)
        .timeout(1.s())
        .map_err(BoxError::from)
        .service(gate());
    assert_eq!(refusal(everything).await, expected);
    assert_eq!(strict.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_goes_into_anyhow_and_into_a_box_by_a_question_mark() {
    type Closed = tidegate::Gate<Strict, HoldHead>;
    async fn into_anyhow(gate: Closed) -> anyhow::Result<usize> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    async fn into_box(gate: Closed) -> Result<usize, Box<dyn StdError>> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    async fn into_send_box(gate: Closed) -> Result<usize, BoxError> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    let gate = closed_gate().layer(Strict::default());
    let words = "refused by gate, nothing was sent: closed";

    let error = into_anyhow(gate.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), words);
    assert!(error.downcast_ref::<Error>().unwrap().refused().is_some());
    assert!(error.chain().any(<dyn StdError>::is::<Refused>));

    let error = into_box(gate.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), words);
    assert!(error.downcast_ref::<Error>().unwrap().refused().is_some());
    assert!(error.source().unwrap().is::<Refused>());

    let error = Error::service(into_send_box(gate).await.unwrap_err());
    assert_eq!(error.to_string(), words);
    assert!(error.refused().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_service_is_found_through_two_gates_and_says_what_it_said() {
    let gate = || GateLayer::new(1).hold_head();
    let service = ServiceBuilder::new()
        .layer(gate())
        .timeout(1.s())
        .layer(gate())
        .service(service_fn(async |()| {
            Err::<(), _>(io::Error::other("reset"))
        }));
    let error = service.oneshot(()).await.unwrap_err();
    assert_eq!(error.find::<io::Error>().unwrap().to_string(), "reset");
    assert_eq!(error.to_string(), "reset");
    assert!(error.refused().is_none());
    let inner = error.into_service().unwrap();
    assert!(inner.is::<io::Error>());
}

/// Whether it can be kept, cloned and called from any task.
fn assert_stack<R, S>(_: &S)
where
    S: Service<R, Future: Send> + Clone + Send + Sync + 'static,
{
}

#[tokio::test]
async fn stacks_are_clone_send_and_sync_and_their_futures_send() {
    type Http = http::Request<Full<Bytes>>;
    let gate = GateLayer::new(1);
    let hyper = || {
        let executor = hyper_util::rt::TokioExecutor::new();
        hyper_util::client::legacy::Client::builder(executor).build_http::<Full<Bytes>>()
    };
    assert_stack::<reqwest::Request, _>(&gate.layer(reqwest::Client::new()));
    assert_stack::<Http, _>(&gate.layer(hyper()));
    assert_stack::<Http, _>(&gate.clone().hold_head().layer(hyper()));
    assert_stack::<Http, _>(&gate.clone().hold_body_max(1.s()).layer(hyper()));
    assert_stack::<Http, _>(&gate.layer(gate.layer(hyper())));
    assert_stack::<Http, _>(&gate.layer(BoxCloneSyncService::new(hyper())));
    assert_stack::<Http, _>(
        &ServiceBuilder::new()
            .timeout(30.s())
            .buffer(16)
            .load_shed()
            .layer(gate.clone())
            .timeout(5.s())
            .service(hyper()),
    );
    assert_stack::<String, _>(&retry().layer(gate.hold_head().layer(Strict::default())));
}
