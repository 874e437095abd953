//! What of a request is the same in each attempt.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, Error, GaveUp, GaveUpReason, ReplayBody, RetryBody};
use tidegate_testkit::{Response, Upstream};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::retry;

/// Executes a `PUT` over HTTP/1 and then answers 503 the first time: what arrived, and why there was no
/// second time.
async fn put<B>(body: B) -> (Vec<(HeaderMap, Bytes)>, Option<GaveUpReason>)
where
    B: Body<Data = Bytes> + RetryBody + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    let received = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&received);
    let upstream = Upstream::unlimited().respond(move |request| {
        let mut log = log.lock().unwrap();
        log.push((request.headers().clone(), request.body().clone()));
        Response::new(if log.len() == 1 { 503 } else { 200 })
    });
    let upstream = upstream.start_in_process();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());
    let request = Request::put("http://upstream.test/")
        .header("x-tide", "low")
        .body(body);
    let response = retry()
        .layer(client)
        .oneshot(request.unwrap())
        .await
        .unwrap();
    let reason = GaveUp::of(&response).map(|gave_up| gave_up.reason.clone());
    assert_eq!(response.status() == 503, reason.is_some());
    let received = received.lock().unwrap().clone();
    (received, reason)
}

fn chunks() -> impl Body<Data = Bytes, Error = io::Error> + Send {
    let chunks = ["one ", "two ", "three"].map(|chunk| Ok(Frame::data(Bytes::from(chunk))));
    StreamBody::new(stream::iter(chunks))
}

#[tokio::test(start_paused = true)]
async fn the_second_attempt_sends_the_same_bytes_and_headers() {
    for (body, length) in [("one two three", "13"), ("", "0")] {
        let (received, reason) = put(Full::from(body)).await;
        assert_eq!((received.len(), reason), (2, None));
        assert_eq!(received[0], received[1]);
        assert_eq!(
            (&received[1].1[..], received[1].0["x-tide"].as_bytes()),
            (body.as_bytes(), &b"low"[..])
        );
        let sent = received[1].0.get("content-length");
        assert!(sent.is_some_and(|sent| sent == length) || body.is_empty());
    }
    let (received, reason) = put(Empty::new()).await;
    assert_eq!((received.len(), reason), (2, None));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_kept_is_the_same_again() {
    let (received, reason) = put(ReplayBody::new(chunks(), 13)).await;
    assert_eq!((received.len(), reason), (2, None));
    assert!(received.iter().all(|(_, body)| body == "one two three"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_not_kept_is_sent_once_and_its_answer_says_so() {
    for max_bytes in [0, 12] {
        let (received, reason) = put(ReplayBody::new(chunks(), max_bytes)).await;
        assert_eq!(reason, Some(GaveUpReason::BodyNotReplayable));
        assert_eq!(
            (received.len(), &received[0].1[..]),
            (1, &b"one two three"[..])
        );
    }
}

/// An upstream that answers before it has read all, as one does that is overloaded.
#[tokio::test(start_paused = true)]
async fn a_stream_that_was_half_read_is_sent_whole_the_next_time() {
    let reads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reads);
    let upstream = service_fn(move |request: Request<ReplayBody<_>>| {
        let log = Arc::clone(&log);
        async move {
            let mut body = request.into_body();
            let is_first = log.lock().unwrap().is_empty();
            let read = if is_first {
                body.frame().await.unwrap().unwrap().into_data().unwrap()
            } else {
                body.collect().await.unwrap().to_bytes()
            };
            log.lock().unwrap().push(read);
            let status = if is_first { 503 } else { 200 };
            let response = http::Response::builder().status(status);
            Ok::<_, Error>(response.body(Empty::<Bytes>::new()).unwrap())
        }
    });
    let request = Request::put("/").body(ReplayBody::new(Box::pin(chunks()), 64));
    let response = retry()
        .layer(upstream)
        .oneshot(request.unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(*reads.lock().unwrap(), ["one ", "one two three"]);
}

#[tokio::test(start_paused = true)]
async fn extensions_are_the_same_in_each_attempt() {
    #[derive(Clone, Debug, PartialEq)]
    struct Tenant(u32);

    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let upstream = service_fn(move |request: Request<()>| {
        let tenant = request.extensions().get::<Tenant>().cloned();
        log.lock()
            .unwrap()
            .push((tenant, request.version(), request.uri().clone()));
        std::future::ready(Err::<http::Response<String>, _>(io::Error::from(
            io::ErrorKind::ConnectionReset,
        )))
    });
    let request = Request::get("/tide?low")
        .version(http::Version::HTTP_2)
        .extension(Tenant(7));
    let error = retry()
        .layer(upstream)
        .oneshot(request.body(()).unwrap())
        .await
        .unwrap_err();
    let kind = error.find::<io::Error>().unwrap().kind();
    assert_eq!(kind, io::ErrorKind::ConnectionReset);
    assert_eq!(
        error.to_string(),
        "sent 3 times and not again, since it may be sent 3 times"
    );
    let same = (
        Some(Tenant(7)),
        http::Version::HTTP_2,
        "/tide?low".parse().unwrap(),
    );
    assert_eq!(*seen.lock().unwrap(), vec![same; 3]);
}
