use bytes::Bytes;
use futures_util::future::try_join_all;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{
    Aimd, BoxError, FeedbackLayer, GateLayer, HttpClassifier, RequestBuilderExt, Units, per_second,
};
use tidegate_testkit::{Connector, Response as Answer, Upstream, UpstreamBuilder};
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_http::follow_redirect::FollowRedirectLayer;

use crate::loopback::reqwest_client;
use crate::recording::Recording;
use crate::support::{assert_free, now};

/// Sends on twice, the second time to another host, before it answers.
fn winding() -> UpstreamBuilder {
    Upstream::unlimited()
        .key(|head| head.headers["host"].to_str().unwrap().to_owned())
        .respond(|request| match request.uri().path() {
            "/first" => Answer::redirect(302, "/second").body("see /second"),
            "/second" => Answer::redirect(302, "http://elsewhere.test/third").body("see there"),
            "/third" => Answer::new(200).body("tide"),
            path => panic!("nothing at {path}"),
        })
}

async fn thirty<S, B>(stack: &S) -> Result<(), BoxError>
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>, Error: Into<BoxError>> + Clone,
    B: http_body::Body<Data: std::fmt::Debug, Error: Into<BoxError>>,
{
    let calls = (0..30).map(async |_| {
        let request = Request::get("http://upstream.test/first").body(Empty::new())?;
        let response = stack.clone().oneshot(request).await.map_err(Into::into)?;
        assert_eq!(response.status(), 200);
        let body = response.into_body().collect().await.map_err(Into::into)?;
        assert_eq!(body.to_bytes(), "tide");
        Ok::<_, BoxError>(())
    });
    try_join_all(calls).await?;
    Ok(())
}

fn hyper(upstream: &Upstream) -> Client<Connector, Empty<Bytes>> {
    Client::builder(TokioExecutor::new()).build(upstream.connector())
}

#[tokio::test(start_paused = true)]
async fn redirects_that_are_followed_below_the_door_are_not_metered() -> Result<(), BoxError> {
    let upstream = winding().start_in_process();
    let gate = GateLayer::new(10).pace(per_second(10.0).burst(10));
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(FollowRedirectLayer::new())
        .service(hyper(&upstream));
    thirty(&stack).await?;
    // 19 calls may start within a second, with three requests each.
    assert_eq!(upstream.most_arrivals_in(1.s()), 3 * 19);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn each_hop_is_metered_where_redirects_are_followed_above_the_door() -> Result<(), BoxError> {
    let upstream = winding().start_in_process();
    let gate = GateLayer::new(10).pace(per_second(10.0).burst(10));
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .layer(gate)
        .service(hyper(&upstream));
    let started = now();
    thirty(&stack).await?;
    assert_eq!(now() - started, (90 - 10) * 100.ms());
    assert_eq!(upstream.most_arrivals_in(1.s()), 10 + 10 - 1);
    let by_host = upstream.report().by_key;
    assert_eq!(
        (by_host["upstream.test"], by_host["elsewhere.test"]),
        (60, 30)
    );
    assert_eq!(handle.in_flight(), 0);
    Ok(())
}

/// The bodies of the redirects that nobody reads let go of their places.
#[tokio::test(start_paused = true)]
async fn hops_go_one_after_the_other_through_a_door_of_one() -> Result<(), BoxError> {
    let upstream = winding().start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .layer(gate)
        .service(hyper(&upstream));
    thirty(&stack).await?;
    assert_eq!(upstream.report().arrivals, 90);
    assert_eq!(upstream.peak_in_flight(), 1);
    assert_free(&handle, 1);
    Ok(())
}

fn around() -> UpstreamBuilder {
    Upstream::unlimited().respond(|request| match request.uri().path() {
        "/first" => Answer::redirect(302, "/second"),
        "/second" => Answer::redirect(302, "/third"),
        _ => Answer::new(200).body("tide"),
    })
}

#[tokio::test]
async fn reqwest_follows_redirects_within_one_permit_and_one_sample() -> anyhow::Result<()> {
    let upstream = around().start().await;
    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new());
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client.clone());
    let response = client
        .get(format!("{}/first", upstream.uri()))
        .send_with(&stack)
        .await?;
    assert_eq!(response.url().path(), "/third");
    assert_eq!(upstream.report().arrivals, 3);
    assert_eq!(law.outcomes().len(), 1);
    Ok(())
}

/// reqwest follows none, and tower-http does: a permit and a sample for each hop.
#[tokio::test]
async fn reqwests_hops_are_metered_by_tower_https_follow_redirect() -> anyhow::Result<()> {
    let upstream = around().start().await;
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let law = Recording::new(Aimd::new());
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
    let client = reqwest_client()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;
    let stack = ServiceBuilder::new()
        .layer(FollowRedirectLayer::new())
        .map_request(|request: Request<reqwest::Body>| {
            reqwest::Request::try_from(request).expect("its address is an URL")
        })
        .map_response(Response::<reqwest::Body>::from)
        .layer(gate)
        .layer(feedback)
        .service(client);
    let uri = format!("{}/first", upstream.uri());
    let request = Request::builder().method(Method::GET).uri(uri);
    let response = stack
        .oneshot(request.body(reqwest::Body::default())?)
        .await?;
    assert_eq!(response.into_body().collect().await?.to_bytes(), "tide");
    assert_eq!(upstream.report().arrivals, 3);
    assert_eq!(law.outcomes().len(), 3);
    assert_free(&handle, 1);
    Ok(())
}
