//! An axum service that protects its outbound calls.

use axum::Json;
use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde::{Deserialize, Serialize};
use tidegate::{
    Aimd, Client, FeedbackLayer, GateHandle, GateLayer, HttpClassifier, RequestBuilderExt, Units,
    per_second,
};
use tidegate_testkit::{Response, Upstream};
use tower::{ServiceBuilder, ServiceExt};

use crate::loopback::reqwest_client;

#[derive(Clone)]
struct App {
    users: Client<reqwest::Request, reqwest::Response>,
    http: reqwest::Client,
    url: String,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Profile {
    name: String,
}

async fn profile(
    State(app): State<App>,
    Path(id): Path<u64>,
) -> Result<Json<Profile>, tidegate::Error> {
    let request = app.http.get(format!("{}/{id}", app.url));
    Ok(Json(request.send_with(&app.users).await?.json().await?))
}

/// The service, and the gate before its users.
fn service(upstream: &Upstream) -> (Router, GateHandle) {
    let gate = GateLayer::new(1)
        .pace(per_second(0.1).burst(2))
        .max_wait(1.s());
    let handle = gate.handle();
    let law = Aimd::new().start(10);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law, gate.handle());
    let http = reqwest_client().build().unwrap();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(http.clone());
    let app = App {
        users: Client::new(stack),
        http,
        url: upstream.uri().to_owned(),
    };
    let routes = Router::new().route("/{id}", get(profile));
    (routes.with_state(app), handle)
}

async fn ask(service: &Router, path: &str) -> (StatusCode, Option<u64>, String) {
    let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let retry_after = response.headers().get("retry-after").cloned();
    let seconds = retry_after.map(|wait| wait.to_str().unwrap().parse().unwrap());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, seconds, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_refusal_is_503_with_retry_after_and_the_users_hear_nothing_of_it() {
    let upstream = Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/1" => Response::new(200).body("{\"name\":\"Nel\"}"),
            _ => Response::new(200).body("no json"),
        })
        .start()
        .await;
    let (service, gate) = service(&upstream);

    let found = (StatusCode::OK, None, "{\"name\":\"Nel\"}".to_owned());
    assert_eq!(ask(&service, "/1").await, found);
    let (status, retry_after, body) = ask(&service, "/2").await;
    assert_eq!((status, retry_after), (StatusCode::BAD_GATEWAY, None));
    assert!(!body.contains("json"), "{body}");

    // One in ten seconds: the third would have to wait for longer than it may.
    let (status, retry_after, body) = ask(&service, "/1").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!((1..=10).contains(&retry_after.unwrap()), "{retry_after:?}");
    assert!(!body.contains("gate"), "{body}");
    assert_eq!(upstream.report().arrivals, 2);

    gate.close();
    let (status, retry_after, _) = ask(&service, "/1").await;
    assert_eq!(
        (status, retry_after),
        (StatusCode::SERVICE_UNAVAILABLE, None)
    );
    assert_eq!(upstream.report().arrivals, 2);
    assert_eq!(gate.in_flight(), 0);
}
