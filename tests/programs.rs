//! What users write, as it reads, on real clients.

#[path = "support/loopback.rs"]
mod loopback;
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::{io, thread};

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, Error, GateLayer, RefusedReason, Units, per_second};
use tidegate_testkit::{Exponential, Fixed, Response, Upstream};
use tonic::transport::{Channel, Endpoint};
use tower::timeout::TimeoutLayer;
use tower::{Layer, ServiceBuilder, ServiceExt};
use tower_http::set_header::SetRequestHeaderLayer;
use tower_http::timeout::ResponseBodyTimeoutLayer;
use tower_http::trace::TraceLayer;

use crate::loopback::reqwest_client;
use crate::support::{assert_free, now};

#[tokio::test]
async fn a_scraper_reads_each_page_in_the_future_that_asks_for_it() -> anyhow::Result<()> {
    // One more at once would be refused.
    let upstream = Upstream::workers(10)
        .queue(0)
        .service_time(Fixed(2.ms()))
        .respond(|request| Response::new(200).body(request.uri().path().to_owned()))
        .start()
        .await;
    let urls = (0..500).map(|page| format!("{}/{page}", upstream.uri()));
    let client = reqwest_client().build()?;

    let stack = ServiceBuilder::new()
        .layer(GateLayer::new(10))
        .service(client.clone());

    let mut pages = stream::iter(urls)
        .map(|url| {
            let (stack, request) = (stack.clone(), client.get(url).build());
            async move { anyhow::Ok(stack.oneshot(request?).await?.text().await?) }
        })
        .buffer_unordered(1_000);

    let mut seen = 0;
    while let Some(page) = pages.try_next().await? {
        assert!(page.starts_with('/'));
        seen += 1;
    }
    assert_eq!((seen, upstream.report().served), (500, 500));
    assert!(upstream.peak_in_flight() <= 10);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn hyper_util_fifty_a_second_ten_at_once_five_seconds_each() -> Result<(), BoxError> {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(100.ms()))
        .start_in_process();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());

    let stack = ServiceBuilder::new()
        .layer(GateLayer::new(10).pace(per_second(50.0).burst(10)))
        .layer(TimeoutLayer::new(5.s()))
        .service(client);

    let started = now();
    let responses = join_all((0..110).map(|_| async {
        let request = Request::get(upstream.uri()).body(Full::<Bytes>::default())?;
        let response = stack.clone().oneshot(request).await?;
        Ok::<_, BoxError>(response.into_body().collect().await?)
    }));
    for response in responses.await {
        response?;
    }
    assert_eq!(now() - started, 100 * 20.ms() + 100.ms());
    assert_eq!(upstream.most_arrivals_in(1.s()), 59);
    assert_eq!(upstream.peak_in_flight(), 10);
    Ok(())
}

/// A client without a runtime.
fn fetch(uri: &str) -> io::Result<String> {
    let address = uri.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn threads_without_async() {
    let upstream = Upstream::workers(10)
        .queue(0)
        .service_time(Fixed(2.ms()))
        .start_on_thread();
    let gate = GateLayer::for_throughput(200.0, 50.ms()).handle();

    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let _permit = gate.acquire_blocking(None).unwrap();
                let response = fetch(upstream.uri()).unwrap();
                assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
            });
        }
    });
    assert_eq!(upstream.report().served, 100);
    assert!(upstream.peak_in_flight() <= 10);
    assert_free(&gate, 10);
}

#[test]
fn a_thread_that_may_not_wait_longer_is_told_so() {
    let gate = GateLayer::new(1).handle();
    let _permit = gate.acquire_blocking(None).unwrap();
    let refused = gate.acquire_blocking(Some(5.ms())).unwrap_err();
    assert_eq!(
        refused.reason,
        RefusedReason::WaitedTooLong { max_wait: 5.ms() }
    );
    assert_eq!(gate.waiting(), 0);
}

#[tokio::test]
async fn a_stack_is_tested_against_a_server_that_overloads() -> anyhow::Result<()> {
    let upstream = Upstream::workers(16)
        .queue(16)
        .service_time(Exponential(2.ms()))
        .start()
        .await;
    let client = reqwest_client().build()?;
    let stack = GateLayer::new(16).layer(client.clone());
    let run = async || {
        let answers = (0..200).map(|_| async {
            let request = client.get(upstream.uri()).build()?;
            anyhow::Ok(stack.clone().oneshot(request).await?.status())
        });
        join_all(answers)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
    };

    assert!(run().await?.iter().all(StatusCode::is_success));
    assert!(upstream.peak_in_flight() <= 32);
    upstream.set_capacity(0.5);
    assert!(run().await?.iter().all(StatusCode::is_success));
    upstream.set_capacity(0.0);
    assert!(run().await?.iter().all(|status| *status == 503));
    assert!(upstream.peak_in_flight() <= 16);
    Ok(())
}

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

    // Long enough for the head to come on a busy machine.
    let endless = details.request("/endless").timeout(500.ms());
    let response = details.send(endless).await?;
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

/// What the clients that tonic generates ask of the service below.
fn assert_grpc_service<S>(_: &S)
where
    S: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
    S::ResponseBody: http_body::Body<Data = Bytes> + Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<BoxError> + Send,
    S::Future: Send,
{
}

/// The channel sends as many messages of a stream as it gets; the call is over at its trailers.
#[tokio::test]
async fn a_call_on_tonics_channel_holds_its_place_to_its_trailers() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|_| {
            Response::new(200)
                .header("content-type", "application/grpc")
                .chunks(3, b"\0\0\0\0\x04tide".as_slice(), 1.ms())
                .trailer("grpc-status", "0")
        })
        .start()
        .await;
    let channel: Channel = Endpoint::from_shared(upstream.uri().to_owned())?.connect_lazy();
    let gate = GateLayer::new(2);
    let stack = gate.layer(channel);
    assert_grpc_service(&stack);

    let calls = (0..10).map(|_| async {
        let request = Request::post("/tide.Tides/Watch").body(tonic::body::Body::empty())?;
        let response = stack.clone().oneshot(request).await?;
        anyhow::Ok(response.into_body().collect().await?)
    });
    for call in join_all(calls).await {
        let call = call?;
        assert_eq!(call.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(call.to_bytes().len(), 27);
    }
    assert_eq!(upstream.report().served, 10);
    assert!(upstream.peak_in_flight() <= 2);
    assert_free(&gate.handle(), 2);
    Ok(())
}
