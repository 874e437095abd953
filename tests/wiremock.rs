//! The stack before wiremock, which users have. Its server runs on a thread of its own and in real
//! time, so that nothing here says how long anything takes at most.

#[path = "support/loopback.rs"]
mod loopback;

use std::time::Duration;

use tidegate::{
    Aimd, Error, FeedbackLayer, GateLayer, HttpClassifier, ProberLayer, RequestBuilderExt,
};
use tokio::time::Instant;
use tower::ServiceBuilder;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::loopback::reqwest_client;

#[expect(clippy::disallowed_methods, reason = "wiremock runs in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Throttles the first request for a second, and then answers.
async fn throttling() -> MockServer {
    let server = MockServer::start().await;
    let tide = || Mock::given(method("GET")).and(path("/tide"));
    tide()
        .respond_with(ResponseTemplate::new(429).insert_header("retry-after", "1"))
        .up_to_n_times(1)
        .expect(1)
        .with_priority(1)
        .mount(&server)
        .await;
    tide()
        .respond_with(ResponseTemplate::new(200).set_body_string("high"))
        .expect(1)
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn a_429_is_the_response_and_nobody_is_sent_before_its_retry_after() -> Result<(), Error> {
    let server = throttling().await;
    let url = format!("{}/tide", server.uri());
    let client = reqwest_client().build()?;
    let gate = GateLayer::new(1);
    let law = Aimd::new().start(10);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law, gate.handle());
    let handle = feedback.handle();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client.clone());

    let started = now();
    let response = client.get(&url).send_with(&stack).await?;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "1");
    drop(response);
    let until = handle.paused_until().expect("the gate is paused");

    let response = client.get(&url).send_with(&stack).await?;
    assert!(now().into_std() >= until);
    assert!(now() - started >= Duration::from_secs(1));
    assert_eq!(response.status(), 200);
    assert_eq!(response.text().await?, "high");
    assert_eq!((handle.limit(), handle.in_flight()), (10, 0));
    Ok(())
}

#[tokio::test]
async fn a_prober_waits_it_out_too() -> Result<(), Error> {
    let server = throttling().await;
    let url = format!("{}/tide", server.uri());
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(ProberLayer::new(HttpClassifier::default()))
        .service(client.clone());

    let started = now();
    assert_eq!(client.get(&url).send_with(&stack).await?.status(), 429);
    assert_eq!(client.get(&url).send_with(&stack).await?.status(), 200);
    assert!(now() - started >= Duration::from_secs(1));
    Ok(())
}
