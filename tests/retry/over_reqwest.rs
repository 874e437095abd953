//! Over reqwest, whose requests keep their extensions to themselves.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use futures_util::stream;
use reqwest::redirect;
use tidegate::{Attempt, GateLayer, GaveUp, GaveUpReason, RequestBuilderExt, RetryLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::common::answers;
use crate::loopback::reqwest_client;

fn quick() -> RetryLayer {
    RetryLayer::exponential(1.ms()..10.ms())
}

#[tokio::test]
async fn a_response_stays_one_of_reqwests() {
    let upstream = answers([Response::new(503).body("busy")]).start().await;
    let client = reqwest_client().build().unwrap();
    let stack = ServiceBuilder::new()
        .layer(quick())
        .layer(GateLayer::new(1))
        .service(client.clone());
    let url = format!("{}/tide?low", upstream.uri());
    let response = client.get(&url).send_with(&stack).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), response.url().as_str()),
        (200, &url[..])
    );
    assert_eq!(upstream.report().arrivals, 2);
}

#[tokio::test]
async fn a_stream_is_sent_once() {
    let upstream = answers([Response::new(503)]).start().await;
    let client = reqwest_client().build().unwrap();
    let stack = ServiceBuilder::new().layer(quick()).service(client.clone());
    let chunks = stream::iter([Ok::<_, std::io::Error>("low")]);
    let body = reqwest::Body::wrap_stream(chunks);
    let response = client
        .put(upstream.uri())
        .body(body)
        .send_with(&stack)
        .await
        .unwrap();
    assert_eq!(response.status(), 503);
    let reason = &GaveUp::of(&response).unwrap().reason;
    assert_eq!(reason, &GaveUpReason::BodyNotReplayable);
    assert_eq!(upstream.report().arrivals, 1);
}

#[tokio::test]
async fn of_two_of_ours_the_outer_one_makes_the_attempts() {
    let upstream = Upstream::unlimited().fail(1.0, 429).start().await;
    let client = reqwest_client().build().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (log, below) = (Arc::clone(&seen), client.clone());
    let stack = ServiceBuilder::new()
        .layer(quick().attempts(4))
        .layer(quick().attempts(4))
        .service(service_fn(move |request: reqwest::Request| {
            log.lock().unwrap().push(Attempt::current().unwrap().number);
            below.clone().oneshot(request)
        }));
    let response = client.get(upstream.uri()).send_with(&stack).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), upstream.report().arrivals),
        (429, 4)
    );
    assert_eq!(*seen.lock().unwrap(), [1, 2, 3, 4]);
}

/// A client that follows redirects may have had an answer from elsewhere before.
#[tokio::test]
async fn a_refused_connection_proves_nothing_unless_no_redirect_was_followed() {
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let max_two = GaveUpReason::Attempts { attempts: 2 };
    for (layer, expected, sent) in [
        (quick().attempts(2), GaveUpReason::MayBeProcessed, 1),
        (quick().attempts(2).no_redirects(), max_two, 2),
    ] {
        let client = reqwest_client()
            .redirect(redirect::Policy::none())
            .build()
            .unwrap();
        let stack = ServiceBuilder::new().layer(layer).service(client.clone());
        let request = client.post(format!("http://{dead}/")).body("low");
        let error = request.send_with(&stack).await.unwrap_err();
        let gave_up = error.find::<GaveUp>().unwrap();
        assert_eq!((&gave_up.reason, gave_up.attempts), (&expected, sent));
        assert!(error.find::<reqwest::Error>().unwrap().is_connect());
    }
}
