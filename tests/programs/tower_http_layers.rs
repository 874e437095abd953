//! A gate among layers of tower-http.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, GateLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tower::{ServiceBuilder, ServiceExt};
use tower_http::set_header::SetRequestHeaderLayer;
use tower_http::timeout::ResponseBodyTimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::support::{assert_free, now};

#[tokio::test(start_paused = true)]
async fn a_gate_stands_between_layers_of_tower_http() -> Result<(), BoxError> {
    let upstream = Upstream::unlimited()
        .respond(|request| {
            assert_eq!(request.headers()["user-agent"], "tidegate");
            Response::new(200).chunks(3, "tide ", 1.s())
        })
        .start_in_process();
    let gate = GateLayer::new(2);
    let agent = http::HeaderValue::from_static("tidegate");
    let stack = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(SetRequestHeaderLayer::overriding(
            http::header::USER_AGENT,
            agent,
        ))
        .layer(gate.clone())
        .layer(ResponseBodyTimeoutLayer::new(5.s()))
        .layer(TraceLayer::new_for_http())
        .service(Client::builder(TokioExecutor::new()).build(upstream.connector()));

    let bodies = (0..6).map(|_| async {
        let request = Request::get(upstream.uri()).body(Full::<Bytes>::default())?;
        let response = stack.clone().oneshot(request).await?;
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| error.to_string())?;
        Ok::<_, BoxError>(body.to_bytes())
    });
    let started = now();
    for body in join_all(bodies).await {
        assert_eq!(body?, "tide tide tide ");
    }
    assert_eq!(now() - started, 6.s());
    assert_eq!(upstream.peak_in_flight(), 2);
    assert_free(&gate.handle(), 2);
    Ok(())
}
