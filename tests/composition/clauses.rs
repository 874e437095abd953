//! What a caller may do with a gate and its futures, one clause of `Service` after the other.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{Ready, join_all};
use http_body_util::Full;
use tidegate::{GateLayer, Units, per_hour, per_minute};
use tokio::time::{sleep, timeout};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::loopback::reqwest_client;
use crate::retry::three_attempts;
use crate::stack::{LIMIT, Stack, gate_alone, stack};
use crate::strict::Strict;
use crate::support::{assert_free, now};

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
    assert!(matches!(service.ready().now_or_never(), Some(Ok(_))));
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
    let mut dropped = Box::pin(stack.send());
    let mut next = pin!(stack.send());
    assert!(dropped.as_mut().now_or_never().is_none());
    assert!(next.as_mut().now_or_never().is_none());
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
    let mut dropped = Box::pin(stack.send());
    assert!(dropped.as_mut().now_or_never().is_none());
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
    let mut dropped = Box::pin(service.clone().oneshot("tide".to_owned()));
    assert!(dropped.as_mut().now_or_never().is_none());
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
    assert_stack::<reqwest::Request, _>(&gate.layer(reqwest_client().build().unwrap()));
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
    assert_stack::<String, _>(&three_attempts().layer(gate.hold_head().layer(Strict::default())));
}
