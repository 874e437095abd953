//! What it takes to find a key.

use std::convert::Infallible;
use std::future::ready;

use allocation_counter::measure;
use futures_util::FutureExt;
use http::Request;
use tidegate::{GateLayer, KeyedLayer, per_second};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{echo, get, send};

#[tokio::test(start_paused = true)]
async fn a_request_to_a_known_host_allocates_nothing_however_its_host_is_written() {
    let keyed = KeyedLayer::per_host(|_| {
        GateLayer::new(10)
            .pace(per_second(1.0).burst(10_000))
            .hold_head()
    });
    let handle = keyed.handle();
    // Gives the request back, whose drop would be counted.
    let echo = service_fn(|request: Request<()>| ready(Ok::<_, Infallible>(request)));
    let mut stack = keyed.layer(echo);
    for uri in [
        "http://a.example/",
        "https://A.EXAMPLE/",
        "http://a.example.:80/",
        "https://a.example:443/",
        "http://a.example:8080/",
        "http://A.example.:8080/",
    ] {
        let mut call = |request| {
            let answer = stack.call(request).now_or_never();
            answer.expect("it does not wait").unwrap()
        };
        let mut request = Some(call(get(uri)));
        let counted = measure(|| {
            for _ in 0..1_000 {
                request = request.take().map(&mut call);
            }
        });
        assert_eq!(counted.count_total, 0, "{uri}");
    }
    assert_eq!(handle.len(), 2);
}

#[test]
fn a_request_of_reqwest_finds_its_host_without_an_allocation_too() {
    let keyed = KeyedLayer::per_host(|_| GateLayer::new(10).hold_head());
    let echo = service_fn(|request: reqwest::Request| ready(Ok::<_, Infallible>(request)));
    let mut stack = keyed.layer(echo);
    let mut call = |request| {
        let answer = stack.call(request).now_or_never();
        answer.expect("it does not wait").unwrap()
    };
    let url = "https://a.example/path?query".parse().unwrap();
    let mut request = Some(call(reqwest::Request::new(reqwest::Method::GET, url)));
    let counted = measure(|| {
        for _ in 0..1_000 {
            request = request.take().map(&mut call);
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[tokio::test]
async fn a_key_is_made_once_and_not_before_it_is_asked_for() {
    let keyed = KeyedLayer::per_host(|host| {
        assert_ne!(host, "never.example");
        GateLayer::new(1).hold_head()
    });
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    assert!(handle.get("never.example").is_none() && handle.is_empty());
    drop(stack.clone().oneshot(get("http://never.example/")));
    send(&stack, "a.example").unwrap();
    assert_eq!(handle.len(), 1);
    assert_eq!(handle.get("A.EXAMPLE.").unwrap().key(), "a.example");
}

#[test]
fn one_who_panics_where_a_layer_is_made_leaves_no_trace() {
    let keyed = KeyedLayer::per_host(|host| {
        assert_ne!(host, "broken.example", "no such host");
        GateLayer::new(1).hold_head()
    })
    .max_keys(2);
    let (handle, stack) = (keyed.handle(), keyed.layer(echo()));
    for _ in 0..3 {
        let broken = std::panic::AssertUnwindSafe(|| send(&stack, "broken.example"));
        std::panic::catch_unwind(broken).unwrap_err();
    }
    assert!(handle.is_empty());
    send(&stack, "a.example").unwrap();
    send(&stack, "b.example").unwrap();
    assert_eq!((handle.len(), handle.overflowed()), (2, 0));
}
