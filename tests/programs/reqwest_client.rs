//! What a `reqwest::Response` can do stays as it is behind a gate.

use bytes::Bytes;
use futures_util::TryStreamExt;
use http::{HeaderMap, StatusCode, Version};
use http_body_util::BodyExt;
use tidegate::{Error, GateLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tower::{Layer, ServiceExt};

use crate::loopback::reqwest_client;
use crate::support::assert_free;

/// An upstream for what a `reqwest::Response` can do, and a gate of one before it, so that each
/// response has to let go of its place for the next.
struct Details {
    upstream: Upstream,
    client: reqwest::Client,
    gate: GateLayer,
}

impl Details {
    async fn new(client: reqwest::ClientBuilder) -> Self {
        let upstream = Upstream::unlimited()
            .respond(|request| match request.uri().path() {
                "/json" => Response::new(200).body("[1,2,3]"),
                "/stream" => Response::new(200).chunks(3, "tide ", 1.ms()),
                "/trailers" => Response::new(200).chunk("tide").trailer("x-tide", "low"),
                "/moved" => Response::new(302).header("location", "/json"),
                "/missing" => Response::new(404).body("no such tide"),
                "/echo" => Response::new(200).body(request.body().clone()),
                "/late" => Response::new(200).after(3_600.s()),
                "/endless" => Response::new(200).chunk("tide").pause(3_600.s()),
                path => panic!("nothing at {path}"),
            })
            .start()
            .await;
        Self {
            upstream,
            client: client.build().expect("a client"),
            gate: GateLayer::new(1),
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Error> {
        let stack = self.gate.layer(self.client.clone());
        stack.oneshot(request.build().expect("a request")).await
    }

    fn request(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}{path}", self.upstream.uri()))
    }

    async fn get(&self, path: &str) -> reqwest::Response {
        self.send(self.request(path)).await.expect("a response")
    }

    fn assert_free(&self) {
        assert_free(&self.gate.handle(), 1);
    }
}

#[tokio::test]
async fn a_reqwest_response_is_what_it_was() -> anyhow::Result<()> {
    for (client, version) in [
        (reqwest_client(), Version::HTTP_11),
        (reqwest_client().http2_prior_knowledge(), Version::HTTP_2),
    ] {
        let details = Details::new(client).await;
        let bare = details.request("/json").send().await?;
        let gated = details.get("/json").await;
        assert_eq!(gated.url().path(), "/json");
        assert_eq!(gated.url(), bare.url());
        assert_eq!((gated.status(), gated.version()), (StatusCode::OK, version));
        assert_eq!(gated.content_length(), Some(7));
        assert_eq!(gated.headers()["content-length"], "7");
        assert!(gated.remote_addr().is_some());
        assert_eq!(gated.remote_addr(), bare.remote_addr());
        assert_eq!(gated.json::<Vec<u32>>().await?, [1, 2, 3]);
        details.assert_free();
    }
    Ok(())
}

#[tokio::test]
async fn a_reqwest_body_can_be_read_in_each_way_and_frees_its_place() -> anyhow::Result<()> {
    for client in [reqwest_client(), reqwest_client().http2_prior_knowledge()] {
        let details = Details::new(client).await;
        assert_eq!(
            details.get("/stream").await.text().await?,
            "tide tide tide "
        );
        assert_eq!(details.get("/json").await.bytes().await?, "[1,2,3]");

        let mut response = details.get("/stream").await;
        let mut read = String::new();
        while let Some(chunk) = response.chunk().await? {
            read += str::from_utf8(&chunk)?;
        }
        assert_eq!(read, "tide tide tide ");
        details.assert_free();

        let chunks = details.get("/stream").await.bytes_stream();
        let chunks: Vec<Bytes> = chunks.try_collect().await?;
        assert_eq!(chunks.concat(), b"tide tide tide ");

        let request = details.request("/trailers").header("te", "trailers");
        let response = http::Response::from(details.send(request).await?);
        let body = response.into_body().collect().await?;
        let trailers = HeaderMap::from_iter([("x-tide".parse()?, "low".parse()?)]);
        assert_eq!(body.trailers(), Some(&trailers));
        assert_eq!(body.to_bytes(), "tide");
        details.assert_free();
    }
    Ok(())
}

#[tokio::test]
async fn reqwest_follows_redirects_sends_bodies_and_tells_errors_of_status() -> anyhow::Result<()> {
    let details = Details::new(reqwest_client()).await;
    let response = details.get("/moved").await;
    assert_eq!(response.url().path(), "/json");
    drop(response);

    let echo = details.request("/echo").json(&[1, 2, 3]);
    assert_eq!(details.send(echo).await?.text().await?, "[1,2,3]");

    let error = details
        .get("/missing")
        .await
        .error_for_status()
        .unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::NOT_FOUND));
    assert_eq!(error.url().unwrap().path(), "/missing");
    details.assert_free();
    Ok(())
}

#[tokio::test]
async fn reqwests_timeouts_and_errors_come_through_and_free_the_place() -> anyhow::Result<()> {
    let details = Details::new(reqwest_client()).await;
    let late = details.request("/late").timeout(20.ms());
    let error = details.send(late).await.unwrap_err();
    assert!(error.find::<reqwest::Error>().unwrap().is_timeout());
    details.assert_free();

    // However long the head takes on a busy machine, the timeout is after it.
    let mut timeout = 100.ms();
    let response = loop {
        let endless = details.request("/endless").timeout(timeout);
        match details.send(endless).await {
            Ok(response) => break response,
            Err(_) => timeout *= 2,
        }
        assert!(timeout < 60.s(), "no head ever comes");
    };
    assert_eq!(details.gate.handle().in_flight(), 1);
    assert!(response.text().await.unwrap_err().is_timeout());
    details.assert_free();

    details.upstream.shutdown().await;
    let error = details.send(details.request("/json")).await.unwrap_err();
    assert!(error.find::<reqwest::Error>().unwrap().is_connect());
    assert!(error.refused().is_none());
    details.assert_free();
    Ok(())
}
