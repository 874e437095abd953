//! What is forgotten, and what never is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use bytes::Bytes;
use futures_util::FutureExt;
use http::Response;
use http_body_util::Full;
use tidegate::{
    ByIdle, GateLayer, GovernorLayer, HttpClassifier, KeyedHandle, KeyedLayer, RateLayer, Units,
};
use tokio::time::{advance, sleep};
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::now;
use crate::{clean, clean_later, echo, free, get, passer_by, send, slow, strict};

#[tokio::test(start_paused = true)]
async fn an_eviction_forgives_no_debt() {
    let keyed = KeyedLayer::per_host(|_| strict(100, slow(10))).forget_after(300.s());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    (0..10).for_each(|_| send(&stack, "a.example").unwrap());
    advance(301.s()).await;
    clean(&stack, &handle);
    assert_eq!(
        send(&stack, "a.example").unwrap_err().retry_after,
        Some(699.s())
    );

    // Ten seconds after it was full.
    advance(9_709.s()).await;
    clean_later(&stack, &handle).await;
    assert!(handle.get("a.example").is_none());
    (0..10).for_each(|_| send(&stack, "a.example").unwrap());
    send(&stack, "a.example").unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_rate_layer_is_kept_to_the_moment_at_which_its_bucket_is_full() {
    let keyed = KeyedLayer::per_host(|host| match host {
        "a.example" => RateLayer::per_hour(1.0),
        _ => RateLayer::per_second(1e9),
    });
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a.example").unwrap();
    advance(3_599.s()).await;
    clean(&stack, &handle);
    assert_eq!(handle.len(), 1 + kept_of_others(&handle));
    assert!(handle.get("a.example").is_some());
    advance(1.s()).await;
    clean(&stack, &handle);
    assert!(handle.get("a.example").is_none());
}

fn kept_of_others(handle: &KeyedHandle<RateLayer>) -> usize {
    let mut others = 0;
    handle.for_each(|key, _| others += usize::from(key != "a.example"));
    others
}

#[tokio::test(start_paused = true)]
async fn a_pause_outlives_every_cleaning() {
    let keyed = KeyedLayer::per_host(|_| free());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    let until = now() + 3_600.s();
    handle.key("a.example").pause_until(until.into_std());
    advance(3_599.s()).await;
    clean(&stack, &handle);
    assert_eq!(
        send(&stack, "a.example").unwrap_err().retry_after,
        Some(1.s())
    );
    advance(1.s()).await;
    send(&stack, "a.example").unwrap();
    clean_later(&stack, &handle).await;
    assert!(handle.get("a.example").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_key_with_waiters_has_one_gate_and_one_request_in_flight_however_often_it_is_cleaned() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).hold_head());
    let handle = keyed.handle();
    let in_flight = Arc::new(AtomicUsize::new(0));
    let stack = keyed.layer(service_fn(move |request: http::Request<()>| {
        let in_flight = Arc::clone(&in_flight);
        async move {
            if request.uri().host() == Some("a.example") {
                assert_eq!(in_flight.fetch_add(1, SeqCst), 0);
                sleep(1_000.s()).await;
                in_flight.fetch_sub(1, SeqCst);
            }
            Ok::<_, io::Error>(Response::new(()))
        }
    }));
    let started = now();
    let calls: Vec<_> = (0..3)
        .map(|_| tokio::spawn(stack.clone().oneshot(get("http://a.example/"))))
        .collect();
    for _ in 0..3 {
        sleep(900.s()).await;
        clean(&stack, &handle);
        assert!(handle.get("a.example").is_some());
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(now() - started, 3_000.s());
    clean_later(&stack, &handle).await;
    assert!(handle.get("a.example").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_read_and_a_future_that_is_not_polled_keep_their_keys() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(1).max_wait(0.s()));
    let handle = keyed.handle();
    let stack = keyed.layer(service_fn(async |_: http::Request<()>| {
        Ok::<_, io::Error>(Response::new(Full::new(Bytes::from("tide"))))
    }));
    let send = |host: &str| stack.clone().oneshot(get(format!("http://{host}/")));
    let clean = || {
        for _ in 0..2 * 64 * 4 {
            let answer = send(&passer_by()).now_or_never();
            drop(answer.unwrap().unwrap());
        }
    };
    let body = send("read.example").await.unwrap();
    let unpolled = stack.clone().call(get("http://unpolled.example/"));
    advance(3_600.s()).await;
    clean();
    for key in ["read.example", "unpolled.example"] {
        assert!(handle.get(key).is_some(), "{key}");
    }
    send("read.example").await.unwrap_err();
    assert_eq!(handle.get("unpolled.example").unwrap().in_flight(), 0);
    drop((body, unpolled));
    clean();
    advance(1.s()).await;
    clean();
    for key in ["read.example", "unpolled.example"] {
        assert!(handle.get(key).is_none(), "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_law_has_learned_lasts_for_ten_minutes_of_idleness() {
    let keyed = KeyedLayer::per_host(|_| GovernorLayer::new(HttpClassifier::default()).hold_head());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    (0..100).for_each(|_| send(&stack, "a.example").unwrap());
    let learned = handle.get("a.example").unwrap().limit();
    assert!(learned > 1);
    // It has been used since the cleaner came by: now it comes by.
    clean(&stack, &handle);
    advance(599.s()).await;
    clean(&stack, &handle);
    assert_eq!(handle.get("a.example").unwrap().limit(), learned);
    advance(1.s()).await;
    clean(&stack, &handle);
    assert!(handle.get("a.example").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_held_frozen_or_closed_by_hand_stays() {
    let keyed = KeyedLayer::per_host(|_| GovernorLayer::new(HttpClassifier::default()).hold_head())
        .forget_after(60.s());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    let held = handle.key("held.example");
    handle.key("frozen.example").freeze();
    handle.key("closed.example").close();
    handle.key("shadow.example").shadow(true);
    clean(&stack, &handle);
    advance(3_600.s()).await;
    clean(&stack, &handle);
    for key in [
        "held.example",
        "frozen.example",
        "closed.example",
        "shadow.example",
    ] {
        assert!(handle.get(key).is_some(), "{key}");
    }
    drop(held);
    clean(&stack, &handle);
    advance(60.s()).await;
    clean(&stack, &handle);
    assert!(handle.get("held.example").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_cannot_tell_goes_by_its_idle_time() {
    let keyed =
        KeyedLayer::per_host(|_| ByIdle(GlobalConcurrencyLimitLayer::new(1))).forget_after(60.s());
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    send(&stack, "a.example").unwrap();
    clean(&stack, &handle);
    advance(59.s()).await;
    clean(&stack, &handle);
    assert!(handle.get("a.example").is_some());
    advance(1.s()).await;
    clean(&stack, &handle);
    assert!(handle.get("a.example").is_none());
}
