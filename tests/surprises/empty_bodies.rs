use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate::{GateLayer, RequestBuilderExt};
use tidegate_testkit::{Response, Upstream};
use tower::{Layer, ServiceExt};

use crate::loopback::reqwest_client;

/// What is asked, and how many places its response holds while nobody has read its body.
const CASES: [(Method, &str, usize); 6] = [
    (Method::GET, "/200", 1),
    (Method::GET, "/200/empty", 0),
    (Method::GET, "/204", 0),
    (Method::GET, "/304", 0),
    (Method::HEAD, "/200", 0),
    (Method::HEAD, "/404", 0),
];

async fn upstream() -> Upstream {
    Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/200/empty" => Response::new(200),
            "/200/framed" => Response::new(200).body(""),
            path => {
                let status = path[1..].parse().unwrap();
                let response = Response::new(status);
                match status {
                    204 | 304 => response,
                    _ => response.body("tide"),
                }
            }
        })
        .start()
        .await
}

#[tokio::test]
async fn a_response_without_a_body_gives_its_place_back_with_the_head() -> anyhow::Result<()> {
    let upstream = upstream().await;
    for (http_2, (method, path, places)) in [false, true]
        .into_iter()
        .flat_map(|http_2| CASES.map(|case| (http_2, case)))
    {
        let uri = format!("{}{path}", upstream.uri());
        let gate = GateLayer::new(1);
        let client = Client::builder(TokioExecutor::new())
            .http2_only(http_2)
            .build::<_, Empty<Bytes>>(HttpConnector::new());
        let request = Request::builder().method(&method).uri(&uri);
        let response = gate
            .layer(client)
            .oneshot(request.body(Empty::new())?)
            .await?;
        assert_eq!(gate.handle().in_flight(), places, "{method} {path}");
        if method == Method::HEAD {
            assert_eq!(response.headers()["content-length"], "4");
        }
        drop(response);

        let client = if http_2 {
            reqwest_client().http2_prior_knowledge().build()?
        } else {
            reqwest_client().build()?
        };
        let request = client.request(method.clone(), &uri);
        let response = request.send_with(&gate.layer(client)).await?;
        assert_eq!(gate.handle().in_flight(), places, "{method} {path}");
        drop(response);
    }
    Ok(())
}

/// The end of the body comes in a frame of its own, and might have brought trailers.
#[tokio::test]
async fn over_http_2_an_end_after_the_head_has_to_be_read() -> anyhow::Result<()> {
    let upstream = upstream().await;
    let gate = GateLayer::new(1);
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build::<_, Empty<Bytes>>(HttpConnector::new());
    let request = Request::get(format!("{}/200/framed", upstream.uri()));
    let response = gate
        .layer(client)
        .oneshot(request.body(Empty::new())?)
        .await?;
    assert_eq!(response.headers()["content-length"], "0");
    assert_eq!(gate.handle().in_flight(), 1);
    response.into_body().collect().await?;
    assert_eq!(gate.handle().in_flight(), 0);
    Ok(())
}
