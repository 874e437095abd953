//! Streaming responses through a gate: the upstream never has more of them than the limit.
//!
//! 40 requests through a gate of 4, over HTTP/1 and HTTP/2: with hyper-util's client in process,
//! where all times are exact, and with reqwest on loopback.

#[path = "support/loopback.rs"]
mod loopback;
mod support;

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use http::header::{DATE, TE};
use http::{HeaderMap, Method, Request, StatusCode, Version};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, GateLayer, Units};
use tidegate_testkit::{Fixed, Report, Request as Received, Response, Upstream, UpstreamBuilder};
use tokio::runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::limit::ConcurrencyLimitLayer;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceExt};

use crate::loopback::reqwest_client;
use crate::support::{assert_free, now};

const REQUESTS: usize = 40;
const LIMIT: usize = 4;

/// From the arrival of a request to the head of its response.
const SERVICE_TIME: Duration = Duration::from_millis(4);
/// Between two chunks of a body.
const PAUSE: Duration = Duration::from_millis(2);
/// Each is by itself in a frame.
const CHUNKS: usize = 3;

type Body = UnsyncBoxBody<Bytes, BoxError>;
type Stack = BoxCloneService<Request<Empty<Bytes>>, http::Response<Body>, BoxError>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    HyperHttp1,
    HyperHttp2,
    ReqwestHttp1,
    ReqwestHttp2,
}

impl Client {
    const ALL: [Self; 4] = [
        Self::HyperHttp1,
        Self::HyperHttp2,
        Self::ReqwestHttp1,
        Self::ReqwestHttp2,
    ];

    fn is_http2(self) -> bool {
        matches!(self, Self::HyperHttp2 | Self::ReqwestHttp2)
    }

    /// Without a socket, so under a paused clock.
    fn is_in_process(self) -> bool {
        matches!(self, Self::HyperHttp1 | Self::HyperHttp2)
    }

    fn run<T>(self, test: impl Future<Output = T>) -> T {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(self.is_in_process())
            .build()
            .expect("a runtime");
        let ended = runtime.block_on(async { timeout(120.s(), test).await });
        ended.expect("it does not hang")
    }

    async fn upstream(self) -> Upstream {
        if self.is_in_process() {
            upstream().start_in_process()
        } else {
            upstream().start().await
        }
    }

    fn bare(self, upstream: &Upstream) -> Stack {
        if self.is_in_process() {
            of_hyper(self.hyper(upstream))
        } else {
            of_reqwest(self.reqwest())
        }
    }

    fn behind_gate(self, gate: &GateLayer, upstream: &Upstream) -> Stack {
        if self.is_in_process() {
            of_hyper(gate.layer(self.hyper(upstream)))
        } else {
            of_reqwest(gate.layer(self.reqwest()))
        }
    }

    fn behind_towers_limit(self, upstream: &Upstream) -> Stack {
        let limit = ConcurrencyLimitLayer::new(LIMIT);
        if self.is_in_process() {
            of_hyper(limit.layer(self.hyper(upstream)))
        } else {
            of_reqwest(limit.layer(self.reqwest()))
        }
    }

    fn hyper(
        self,
        upstream: &Upstream,
    ) -> legacy::Client<tidegate_testkit::Connector, Empty<Bytes>> {
        legacy::Client::builder(TokioExecutor::new())
            .http2_only(self.is_http2())
            .build(upstream.connector())
    }

    fn reqwest(self) -> reqwest::Client {
        let client = if self.is_http2() {
            reqwest_client().http2_prior_knowledge()
        } else {
            reqwest_client()
        };
        client.build().expect("a client")
    }
}

/// What is under test is of hyper-util's types; made equal above it.
fn of_hyper<S, B>(stack: S) -> Stack
where
    S: Service<Request<Empty<Bytes>>, Response = http::Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let stack = stack
        .map_response(|response: http::Response<B>| {
            response.map(|body| body.map_err(Into::into).boxed_unsync())
        })
        .map_err(Into::into);
    BoxCloneService::new(stack)
}

/// What is under test is of reqwest's types.
fn of_reqwest<S>(stack: S) -> Stack
where
    S: Service<reqwest::Request, Response = reqwest::Response> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    of_hyper(
        stack
            .map_request(|request: Request<Empty<Bytes>>| {
                let request = request.map(|_| reqwest::Body::default());
                reqwest::Request::try_from(request).expect("a request")
            })
            .map_response(http::Response::<reqwest::Body>::from),
    )
}

fn upstream() -> UpstreamBuilder {
    Upstream::unlimited()
        .service_time(Fixed(SERVICE_TIME))
        .respond(respond)
}

fn respond(request: &Received) -> Response {
    let response = Response::new(200);
    match request.uri().path() {
        "/chunked" => response.chunks(CHUNKS, "tide ", PAUSE),
        "/sized" => response.chunks(CHUNKS, "tide ", PAUSE).sized(),
        "/trailers" => response
            .chunks(CHUNKS, "tide ", PAUSE)
            .trailer("x-tide", "low"),
        "/empty" => response,
        "/no-content" => Response::new(204),
        "/cut" => response.chunk("high ").pause(PAUSE).abort(),
        "/cut-sized" => response
            .chunk("high ")
            .pause(PAUSE)
            .abort()
            .chunk("water")
            .sized(),
        // Longer than any test waits: whoever takes it must leave early.
        "/endless" => response.chunk("high ").pause(3_600.s()).chunk("water"),
        path => panic!("nothing at {path}"),
    }
}

/// When a reader stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    /// At the end or at an error; it keeps the body.
    ToTheEnd,
    /// When it knows that nothing follows, by the length or the trailers; it keeps the body.
    ToTheLastFrame,
    /// After the first frame; it drops the body.
    OneFrame,
    /// At the head; it drops the body.
    Nothing,
}

/// What a reader saw.
#[derive(Debug, PartialEq)]
struct Seen {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
    lower: u64,
    upper: Option<u64>,
    text: String,
    trailers: Option<HeaderMap>,
    failed: bool,
}

/// Sends and reads; the body too, if it is kept.
async fn read(stack: Stack, method: Method, uri: String, reads: Reads) -> (Seen, Option<Body>) {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header(TE, "trailers")
        .body(Empty::new())
        .expect("a request");
    let response = stack.oneshot(request).await.expect("a head");
    let (mut head, mut body) = response.into_parts();
    head.headers.remove(DATE);
    let hint = body.size_hint();
    let mut seen = Seen {
        status: head.status,
        version: head.version,
        headers: head.headers,
        lower: hint.lower(),
        upper: hint.upper(),
        text: String::new(),
        trailers: None,
        failed: false,
    };
    loop {
        match reads {
            Reads::Nothing => return (seen, None),
            Reads::OneFrame if !seen.text.is_empty() => return (seen, None),
            Reads::ToTheLastFrame if body.is_end_stream() || seen.trailers.is_some() => {
                return (seen, Some(body));
            }
            _ => {}
        }
        match body.frame().await {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => seen.text += std::str::from_utf8(&data).expect("text"),
                Err(frame) => seen.trailers = frame.into_trailers().ok(),
            },
            Some(Err(_)) => {
                seen.failed = true;
                return (seen, Some(body));
            }
            None => return (seen, Some(body)),
        }
    }
}

/// One kind of request, and how it goes.
struct Case {
    method: Method,
    path: &'static str,
    reads: Reads,
    text: &'static str,
    trailers: bool,
    fails: bool,
    /// From its arrival until its place is free.
    takes: Duration,
    /// Where the upstream counts it in the end.
    counted: fn(&Report) -> u64,
}

impl Case {
    async fn send(&self, stack: &Stack, upstream: &Upstream) -> (Seen, Option<Body>) {
        let uri = format!("{}{}", upstream.uri(), self.path);
        read(stack.clone(), self.method.clone(), uri, self.reads).await
    }

    /// 40 at once: each comes as it does without a gate, the upstream has 4, and all places are free
    /// afterwards, whether the bodies that have ended still live or not.
    fn holds(&self) {
        for client in Client::ALL {
            client.run(async {
                let upstream = client.upstream().await;
                let (expected, _) = self.send(&client.bare(&upstream), &upstream).await;
                assert_eq!(expected.text, self.text, "{client:?}");
                assert_eq!(expected.trailers.is_some(), self.trailers, "{client:?}");
                assert_eq!(expected.failed, self.fails, "{client:?}");

                let upstream = client.upstream().await;
                let gate = GateLayer::new(LIMIT);
                let stack = client.behind_gate(&gate, &upstream);
                let started = now();
                let requests = (0..REQUESTS).map(|_| self.send(&stack, &upstream));
                let (seen, kept): (Vec<_>, Vec<_>) = join_all(requests).await.into_iter().unzip();
                if client.is_in_process() {
                    let rounds = (REQUESTS / LIMIT) as u32;
                    assert_eq!(now() - started, self.takes * rounds, "{client:?}");
                }
                assert_eq!(upstream.peak_in_flight(), LIMIT, "{client:?}");
                for seen in seen {
                    assert_eq!(seen, expected, "{client:?}");
                }
                assert_free(&gate.handle(), LIMIT);
                drop(kept);
                assert_free(&gate.handle(), LIMIT);

                upstream.shutdown().await;
                assert_eq!(
                    (self.counted)(&upstream.report()),
                    REQUESTS as u64,
                    "{client:?}"
                );
            });
        }
    }
}

const BODY: Duration = PAUSE.saturating_mul(CHUNKS as u32 - 1);

/// A body of a few chunks, read to its end.
const STREAMED: Case = Case {
    method: Method::GET,
    path: "/chunked",
    reads: Reads::ToTheEnd,
    text: "tide tide tide ",
    trailers: false,
    fails: false,
    takes: SERVICE_TIME.saturating_add(BODY),
    counted: |report| report.served,
};

#[test]
fn a_chunked_body_holds_its_place_to_the_end() {
    STREAMED.holds();
}

#[test]
fn a_body_of_known_length_holds_its_place_to_the_last_byte() {
    for reads in [Reads::ToTheEnd, Reads::ToTheLastFrame] {
        let path = "/sized";
        Case {
            path,
            reads,
            ..STREAMED
        }
        .holds();
    }
}

#[test]
fn trailers_come_through_and_end_a_body() {
    for reads in [Reads::ToTheEnd, Reads::ToTheLastFrame] {
        Case {
            path: "/trailers",
            reads,
            trailers: true,
            ..STREAMED
        }
        .holds();
    }
}

#[test]
fn an_empty_body_has_ended_with_its_head() {
    for path in ["/empty", "/no-content"] {
        for reads in [Reads::ToTheEnd, Reads::ToTheLastFrame, Reads::Nothing] {
            Case {
                path,
                reads,
                text: "",
                takes: SERVICE_TIME,
                ..STREAMED
            }
            .holds();
        }
    }
}

#[test]
fn an_answer_to_head_has_ended_with_its_head_whatever_length_it_tells() {
    for path in ["/sized", "/chunked"] {
        Case {
            method: Method::HEAD,
            path,
            text: "",
            takes: SERVICE_TIME,
            ..STREAMED
        }
        .holds();
    }
}

#[test]
fn a_body_that_fails_holds_its_place_to_the_error() {
    for path in ["/cut", "/cut-sized"] {
        Case {
            path,
            text: "high ",
            fails: true,
            takes: SERVICE_TIME + PAUSE,
            counted: |report| report.aborted,
            ..STREAMED
        }
        .holds();
    }
}

#[test]
fn a_body_that_is_dropped_early_holds_its_place_till_then() {
    for (reads, text) in [(Reads::OneFrame, "high "), (Reads::Nothing, "")] {
        Case {
            path: "/endless",
            reads,
            text,
            takes: SERVICE_TIME,
            counted: |report| report.cancelled,
            ..STREAMED
        }
        .holds();
    }
}

#[test]
fn on_several_threads_the_upstream_has_no_more_either() {
    for client in [Client::ReqwestHttp1, Client::ReqwestHttp2] {
        let upstream = upstream().start_on_thread();
        let gate = GateLayer::new(LIMIT);
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let stack = client.behind_gate(&gate, &upstream);
            let mut requests = JoinSet::new();
            for path in ["/chunked", "/sized", "/trailers", "/empty", "/cut"].repeat(REQUESTS) {
                let uri = format!("{}{path}", upstream.uri());
                requests.spawn(read(stack.clone(), Method::GET, uri, Reads::ToTheEnd));
            }
            let kept = requests.join_all().await;
            assert_free(&gate.handle(), LIMIT);
            drop(kept);
        });
        assert_free(&gate.handle(), LIMIT);
        assert_eq!(upstream.peak_in_flight(), LIMIT, "{client:?}");
    }
}

/// Of 40 requests whose bodies nobody reads, `count` that have their heads.
async fn unread(stack: &Stack, upstream: &Upstream, count: usize) -> impl Sized {
    let mut requests: FuturesUnordered<_> = (0..REQUESTS)
        .map(|_| {
            let uri = format!("{}/endless", upstream.uri());
            let request = Request::get(uri).body(Empty::new()).expect("a request");
            stack.clone().oneshot(request)
        })
        .collect();
    let mut heads = Vec::new();
    while heads.len() < count {
        heads.extend(requests.next().await.map(|head| head.expect("a head")));
    }
    (heads, requests)
}

#[test]
fn towers_limit_of_4_has_40_streams_open_where_a_gate_has_4() {
    for client in Client::ALL {
        client.run(async {
            let upstream = client.upstream().await;
            let stack = client.behind_towers_limit(&upstream);
            let _unread = unread(&stack, &upstream, REQUESTS).await;
            assert_eq!(upstream.in_flight(), REQUESTS, "{client:?}");

            let upstream = client.upstream().await;
            let gate = GateLayer::new(LIMIT);
            let stack = client.behind_gate(&gate, &upstream);
            let unread = unread(&stack, &upstream, LIMIT).await;
            assert_eq!(upstream.in_flight(), LIMIT, "{client:?}");
            assert_eq!(gate.handle().waiting(), REQUESTS - LIMIT, "{client:?}");
            drop(unread);
            assert_eq!(upstream.peak_in_flight(), LIMIT, "{client:?}");
            assert_free(&gate.handle(), LIMIT);
        });
    }
}
