//! Until when a place is held.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Empty};
use tidegate::{BoxError, GateLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt};

use crate::support::{assert_free, now};
use crate::{arrivals, get};

/// The head at 10 ms, then a chunk a second for 10 s.
const ENDS: Duration = Duration::from_millis(10_010);

fn upstream() -> Upstream {
    Upstream::unlimited()
        .respond(|request| {
            let head = Response::new(200).after(10.ms());
            match request.uri().path() {
                "/slow" => (0..10)
                    .fold(head, |body, _| body.pause(1.s()).chunk("tide "))
                    .trailer("x-tide", "low"),
                "/cut" => head.pause(1.s()).chunk("tide ").pause(3.s()).abort(),
                "/endless" => head.chunk("tide ").pause(3_600.s()),
                path => panic!("nothing at {path}"),
            }
        })
        .start_in_process()
}

type Read = (String, Option<HeaderMap>);

/// What came, unless it failed.
async fn read<S, B>(stack: S, path: &'static str) -> Option<Read>
where
    S: Service<Request<Empty<Bytes>>, Response = http::Response<B>>,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes>,
{
    let response = stack.oneshot(get(path)).await.ok()?;
    let body = response.into_body().collect().await.ok()?;
    let trailers = body.trailers().cloned();
    let text = String::from_utf8(body.to_bytes().to_vec()).ok()?;
    Some((text, trailers))
}

fn complete(read: Option<Read>) -> bool {
    read.is_some_and(|(text, trailers)| {
        text == "tide ".repeat(10) && trailers.is_some_and(|trailers| trailers["x-tide"] == "low")
    })
}

/// Two requests at once, of which `first` is one, and a third. Returns when the third arrived.
async fn third_after<S, B>(first: impl Future, stack: S, upstream: &Upstream) -> Duration
where
    S: Service<Request<Empty<Bytes>>, Response = http::Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes>,
{
    let (_, two, three) = tokio::join!(first, read(stack.clone(), "/slow"), read(stack, "/slow"));
    assert!(complete(two) && complete(three));
    let arrivals = arrivals(upstream);
    assert_eq!(arrivals[..2], [Duration::ZERO; 2]);
    arrivals[2]
}

#[tokio::test(start_paused = true)]
async fn held_to_the_body_a_third_starts_when_a_body_has_ended() {
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let first = async { assert!(complete(read(stack.clone(), "/slow").await)) };
    assert_eq!(third_after(first, stack.clone(), &upstream).await, ENDS);
    assert_eq!(upstream.peak_in_flight(), 2);
    assert_free(&gate.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn held_to_the_head_a_third_starts_when_a_head_is_there() {
    let upstream = upstream();
    let gate = GateLayer::new(2).hold_head();
    let stack = gate.layer(upstream.direct());
    let first = async { assert!(complete(read(stack.clone(), "/slow").await)) };
    assert_eq!(third_after(first, stack.clone(), &upstream).await, 10.ms());
    assert_eq!(upstream.peak_in_flight(), 3);
    assert_free(&gate.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_dropped_half_way_lets_the_third_start() {
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let first = async { assert!(timeout(4.s(), read(stack.clone(), "/slow")).await.is_err()) };
    assert_eq!(third_after(first, stack.clone(), &upstream).await, 4.s());
    assert_eq!(upstream.peak_in_flight(), 2);
    assert_free(&gate.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_half_way_lets_the_third_start() {
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let first = async { assert_eq!(read(stack.clone(), "/cut").await, None) };
    assert_eq!(
        third_after(first, stack.clone(), &upstream).await,
        4_010.ms()
    );
    assert_eq!(upstream.peak_in_flight(), 2);
    assert_free(&gate.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_holds_its_place_too_long_loses_it_to_the_next_and_is_read_on() {
    let upstream = upstream();
    let gate = GateLayer::new(1).hold_body_max(3.s());
    let handle = gate.handle();
    let stack = gate.layer(upstream.direct());
    let (one, two) = tokio::join!(read(stack.clone(), "/slow"), read(stack, "/slow"));
    assert!(complete(one) && complete(two));
    // The second one is overdue too, but nobody wants its place.
    assert_eq!(arrivals(&upstream), [0.ms(), 3_010.ms()]);
    assert_eq!(handle.overdue(), 1);
    assert_free(&handle, 1);
}

#[tokio::test(start_paused = true)]
async fn that_a_body_is_overdue_is_found_when_somebody_comes_and_frees_its_place_once() {
    let upstream = upstream();
    let gate = GateLayer::new(1).hold_body_max(3.s());
    let handle = gate.handle();
    let stack = gate.layer(upstream.direct());
    let unread = stack.clone().oneshot(get("/endless")).await.unwrap();
    sleep(10.s()).await;
    assert_eq!((handle.in_flight(), handle.overdue()), (1, 0));
    let next = stack.oneshot(get("/endless")).await.unwrap();
    assert_eq!(arrivals(&upstream), [0.ms(), 10_010.ms()]);
    assert_eq!((handle.in_flight(), handle.overdue()), (1, 1));
    drop(unread);
    assert_eq!(handle.in_flight(), 1);
    drop(next);
    assert_free(&handle, 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_in_time_is_not_overdue() {
    let upstream = upstream();
    let gate = GateLayer::new(1).hold_body_max(11.s());
    let handle = gate.handle();
    let stack = gate.layer(upstream.direct());
    let started = now();
    let (one, two) = tokio::join!(read(stack.clone(), "/slow"), read(stack, "/slow"));
    assert!(complete(one) && complete(two));
    assert_eq!(now() - started, ENDS * 2);
    assert_eq!(handle.overdue(), 0);
    assert_free(&handle, 1);
}
