//! Hooks on a `reqwest::Response`, against a server on loopback over HTTP/1 and HTTP/2.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, TRAILER, UPGRADE};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use reqwest::{Client, ClientBuilder, Response};
use tidegate_body::{AttachHook, End, Hook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

type ServerBody = BoxBody<Bytes, io::Error>;

/// What the hooks of one test saw, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn hook(&self, name: &'static str) -> impl Hook + Send + use<> {
        let log = self.clone();
        move |end: End<'_>| {
            let end = match end {
                End::Complete(None) => "complete".to_owned(),
                End::Complete(Some(trailers)) => format!("complete {trailers:?}"),
                End::Failed(_) => match end.error().and_then(|error| error.downcast_ref()) {
                    Some(error) if reqwest::Error::is_timeout(error) => "timed out".to_owned(),
                    Some(_) => "failed".to_owned(),
                    None => "failed of something else".to_owned(),
                },
                End::Dropped => "dropped".to_owned(),
            };
            log.0.lock().unwrap().push(format!("{name} {end}"));
        }
    }

    #[track_caller]
    fn assert_is(&self, lines: &[&str]) {
        let seen = self.0.lock().unwrap().clone();
        assert_eq!(seen, lines);
    }
}

fn of_known_length(bytes: &'static str) -> ServerBody {
    BoxBody::new(Full::from(bytes).map_err(|never| match never {}))
}

/// One frame a poll, so that each is sent by itself.
fn of_frames<const N: usize>(frames: [io::Result<Frame<Bytes>>; N]) -> ServerBody {
    let frames = stream::iter(frames).then(async |frame| {
        tokio::task::yield_now().await;
        frame
    });
    BoxBody::new(StreamBody::new(frames))
}

fn data(bytes: &'static str) -> Frame<Bytes> {
    Frame::data(Bytes::from(bytes))
}

async fn echo(request: Request<Incoming>) {
    let upgraded = hyper::upgrade::on(request).await.expect("an upgrade");
    let (mut read, mut write) = tokio::io::split(TokioIo::new(upgraded));
    tokio::io::copy(&mut read, &mut write)
        .await
        .expect("an echo");
}

async fn answer(request: Request<Incoming>) -> http::Result<http::Response<ServerBody>> {
    let response = http::Response::builder();
    match request.uri().path() {
        "/json" => response
            .header("x-kept", "yes")
            .body(of_known_length("[1,2,3]")),
        "/head" => response
            .header(CONTENT_LENGTH, "7")
            .body(of_known_length("")),
        "/empty" => response
            .status(StatusCode::NO_CONTENT)
            .body(of_known_length("")),
        "/stream" => response.body(of_frames([Ok(data("one")), Ok(data("two"))])),
        "/trailers" => {
            let trailers = HeaderMap::from_iter([("x-sum".parse()?, "7".parse()?)]);
            let trailers = Ok(Frame::trailers(trailers));
            response
                .header(TRAILER, "x-sum")
                .body(of_frames([Ok(data("one")), trailers]))
        }
        "/cut" => response.body(of_frames([Ok(data("one")), Err(io::Error::other("cut"))])),
        "/stall" => {
            let body = stream::iter([Ok(data("one"))]).chain(stream::pending());
            response.body(BoxBody::new(StreamBody::new(body)))
        }
        "/echo" => {
            tokio::spawn(echo(request));
            response
                .status(StatusCode::SWITCHING_PROTOCOLS)
                .header(CONNECTION, "upgrade")
                .header(UPGRADE, "echo")
                .body(of_known_length(""))
        }
        path => panic!("nothing at {path}"),
    }
}

async fn serve() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(async {
                let server = auto::Builder::new(TokioExecutor::new());
                let connection = TokioIo::new(connection);
                let serving = server.serve_connection_with_upgrades(connection, service_fn(answer));
                // Fails where a test cuts the connection.
                drop(serving.await);
            });
        }
    });
    address
}

fn http1() -> ClientBuilder {
    // Built with the examples, reqwest has TLS without a provider, and demands one.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy()
}

fn http2() -> ClientBuilder {
    http1().http2_prior_knowledge()
}

async fn get(client: ClientBuilder, path: &str) -> Response {
    let url = format!("http://{}{path}", serve().await);
    let request = client.build().unwrap().get(url).header("te", "trailers");
    request.send().await.expect("a response")
}

async fn read_to_end(response: &mut Response) {
    while response.chunk().await.expect("a chunk").is_some() {}
}

#[tokio::test]
async fn a_response_says_what_it_said_before() {
    for (client, version) in [(http1(), Version::HTTP_11), (http2(), Version::HTTP_2)] {
        let log = Log::default();
        let mut response = get(client, "/json?page=2").await;
        let address = response.remote_addr().expect("an address");
        let url = response.url().clone();
        assert_eq!(url.query(), Some("page=2"));
        response.extensions_mut().insert(7_u32);

        let response = response
            .attach_hook(log.hook("first"))
            .attach_hook(log.hook("second"));

        assert_eq!(*response.url(), url);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.version(), version);
        assert_eq!(response.headers()["x-kept"], "yes");
        assert_eq!(response.content_length(), Some(7));
        assert_eq!(response.remote_addr(), Some(address));
        assert_eq!(response.extensions().get(), Some(&7_u32));
        log.assert_is(&[]);

        assert_eq!(response.json::<Vec<u32>>().await.unwrap(), [1, 2, 3]);
        log.assert_is(&["first complete", "second complete"]);
    }
}

#[tokio::test]
async fn an_error_of_json_names_the_url() {
    let log = Log::default();
    let response = get(http1(), "/json").await;
    let url = response.url().clone();
    let response = response.attach_hook(log.hook("hook"));
    let error = response.json::<String>().await.unwrap_err();
    assert!(error.is_decode());
    assert_eq!(error.url(), Some(&url));
    log.assert_is(&["hook complete"]);
}

#[tokio::test]
async fn a_stream_of_bytes_ends_it() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let response = get(client, "/stream").await;
        assert_eq!(response.content_length(), None);
        let mut stream = response.attach_hook(log.hook("hook")).bytes_stream();
        let mut read = Vec::new();
        while let Some(bytes) = stream.next().await {
            read.extend(bytes.unwrap());
        }
        assert_eq!(read, b"onetwo");
        log.assert_is(&["hook complete"]);
    }
}

#[tokio::test]
async fn a_reader_that_knows_the_length_need_not_ask_again() {
    let log = Log::default();
    let mut response = get(http1(), "/json").await.attach_hook(log.hook("hook"));
    let chunk = response.chunk().await.unwrap().unwrap();
    assert_eq!(chunk, "[1,2,3]");
    log.assert_is(&["hook complete"]);
}

#[tokio::test]
async fn trailers_reach_the_hooks_and_the_reader() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let response = get(client, "/trailers").await;
        let response = response
            .attach_hook(log.hook("first"))
            .attach_hook(log.hook("second"));
        let body = http::Response::<reqwest::Body>::from(response).into_body();
        let body = body.collect().await.unwrap();
        assert_eq!(body.trailers().unwrap()["x-sum"], "7");
        assert_eq!(body.to_bytes(), "one");
        log.assert_is(&[
            r#"first complete {"x-sum": "7"}"#,
            r#"second complete {"x-sum": "7"}"#,
        ]);
    }
}

#[tokio::test]
async fn a_hook_attached_after_the_end_is_called_at_once() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let mut response = get(client, "/stream").await.attach_hook(log.hook("first"));
        read_to_end(&mut response).await;
        log.assert_is(&["first complete"]);
        let response = response.attach_hook(log.hook("second"));
        log.assert_is(&["first complete", "second complete"]);
        drop(response);
        log.assert_is(&["first complete", "second complete"]);
    }
}

#[tokio::test]
async fn a_hook_attached_after_an_error_is_called_at_once() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let mut response = get(client, "/cut").await.attach_hook(log.hook("first"));
        assert_eq!(response.chunk().await.unwrap().unwrap(), "one");
        assert!(response.chunk().await.is_err());
        log.assert_is(&["first failed"]);
        let _response = response.attach_hook(log.hook("second"));
        log.assert_is(&["first failed", "second dropped"]);
    }
}

#[tokio::test]
async fn a_hook_attached_mid_way_is_called_with_the_others() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let mut response = get(client, "/stream").await.attach_hook(log.hook("first"));
        assert_eq!(response.chunk().await.unwrap().unwrap(), "one");
        let mut response = response.attach_hook(log.hook("second"));
        log.assert_is(&[]);
        read_to_end(&mut response).await;
        log.assert_is(&["first complete", "second complete"]);
    }
}

#[tokio::test]
async fn a_connection_cut_mid_body_fails_it() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let response = get(client, "/cut").await;
        let response = response
            .attach_hook(log.hook("first"))
            .attach_hook(log.hook("second"));
        assert!(response.bytes().await.is_err());
        log.assert_is(&["first failed", "second failed"]);
    }
}

#[tokio::test]
async fn a_timeout_mid_body_is_one_to_the_hook_and_to_the_caller() {
    let short = Duration::from_millis(500);
    for client in [
        http1().read_timeout(short),
        http2().read_timeout(short),
        http1().timeout(short),
        http2().timeout(short),
    ] {
        let log = Log::default();
        let mut response = get(client, "/stall").await.attach_hook(log.hook("hook"));
        assert_eq!(response.chunk().await.unwrap().unwrap(), "one");
        let error = response.chunk().await.unwrap_err();
        assert!(error.is_timeout());
        log.assert_is(&["hook timed out"]);
    }
}

#[tokio::test]
async fn a_response_that_is_never_read_is_dropped() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let response = get(client, "/stall").await;
        let response = response
            .attach_hook(log.hook("first"))
            .attach_hook(log.hook("second"));
        drop(response);
        log.assert_is(&["first dropped", "second dropped"]);
    }
}

#[tokio::test]
async fn a_response_dropped_mid_way_is_dropped() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let mut response = get(client, "/stall").await.attach_hook(log.hook("hook"));
        response.chunk().await.unwrap();
        log.assert_is(&[]);
        drop(response);
        log.assert_is(&["hook dropped"]);
    }
}

#[tokio::test]
async fn a_response_without_a_body_has_ended() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let response = get(client, "/empty").await.attach_hook(log.hook("first"));
        log.assert_is(&["first complete"]);
        let response = response.attach_hook(log.hook("second"));
        log.assert_is(&["first complete", "second complete"]);
        assert_eq!(response.bytes().await.unwrap(), "");
    }
}

#[tokio::test]
async fn an_answer_to_head_has_ended() {
    for client in [http1(), http2()] {
        let log = Log::default();
        let url = format!("http://{}/head", serve().await);
        let response = client.build().unwrap().head(url).send().await.unwrap();
        let length = response.content_length();
        let response = response.attach_hook(log.hook("hook"));
        log.assert_is(&["hook complete"]);
        assert_eq!(response.content_length(), length);
        assert_eq!(response.headers()[CONTENT_LENGTH], "7");
    }
}

#[tokio::test]
async fn an_upgrade_has_ended_and_still_upgrades() {
    let log = Log::default();
    let url = format!("http://{}/echo", serve().await);
    let request = http1().build().unwrap().get(url);
    let request = request
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "echo");
    let response = request.send().await.unwrap();
    let response = response
        .attach_hook(log.hook("first"))
        .attach_hook(log.hook("second"));
    log.assert_is(&["first complete", "second complete"]);

    let mut upgraded = response.upgrade().await.expect("an upgrade");
    upgraded.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    upgraded.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
}

#[tokio::test]
async fn hooks_stay_with_the_body_that_another_layer_replaces() {
    let log = Log::default();
    let response = get(http1(), "/stream").await.attach_hook(log.hook("first"));
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    let read = body.collect().await.unwrap().to_bytes();
    log.assert_is(&["first complete"]);

    let response = Response::from(http::Response::from_parts(parts, read));
    let response = response.attach_hook(log.hook("second"));
    log.assert_is(&["first complete", "second complete"]);
    assert_eq!(response.text().await.unwrap(), "onetwo");
}

#[test]
fn a_hook_may_attach_a_hook_to_its_own_response() {
    let log = Log::default();
    let response = Response::from(http::Response::new("body")).attach_hook(log.hook("first"));
    let mut twin = http::Response::new("");
    *twin.extensions_mut() = response.extensions().clone();
    let twin = Response::from(twin);
    let late = log.hook("late");
    let response = response.attach_hook(move |_: End<'_>| drop(twin.attach_hook(late)));
    let response = response.attach_hook(log.hook("last"));
    drop(response);
    log.assert_is(&["first dropped", "late dropped", "last dropped"]);
}

#[test]
fn every_hook_is_called_once_even_if_one_panics() {
    let log = Log::default();
    let mut response = Response::from(http::Response::new("body"))
        .attach_hook(log.hook("first"))
        .attach_hook(|_: End<'_>| panic!("the second hook"))
        .attach_hook(log.hook("third"));
    let chunk = AssertUnwindSafe(|| drop(response.chunk().now_or_never()));
    assert!(catch_unwind(chunk).is_err());
    log.assert_is(&["first complete", "third dropped"]);
    drop(response);
    log.assert_is(&["first complete", "third dropped"]);
}
