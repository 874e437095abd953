//! What is seen of a body, and that the caller gets it untouched.

use std::convert::Infallible;
use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Request, Response};
use http_body::Body;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Full};
use tidegate_classify::{Classify, HttpClassifier, Peeked, When};
use tidegate_core::{Cause, Outcome};
use tidegate_peek::{PeekLayer, PeekedBody};
use tokio::time::advance;
use tower::{Layer, ServiceExt, service_fn};

type Sender = http_body_util::channel::Sender<Bytes, io::Error>;
type Peekd = PeekedBody<Channel<Bytes, io::Error>>;

fn layer(most: usize) -> PeekLayer {
    PeekLayer::new(most)
        .status([200, 403])
        .content_type("application/json")
}

/// A response that is being sent, through the layer.
async fn sent(
    layer: &PeekLayer,
    head: impl FnOnce(http::response::Builder) -> http::response::Builder,
    send: impl AsyncFnOnce(&mut Sender),
) -> Response<Peekd> {
    let (mut sender, body) = Channel::new(16);
    let json = Response::builder().header("content-type", "application/json; charset=utf-8");
    let response = std::sync::Mutex::new(Some(head(json).body(body).unwrap()));
    let stack = layer.layer(service_fn(|_: Request<()>| {
        let response = response.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(response) }
    }));
    let (response, ()) = tokio::join!(stack.oneshot(Request::new(())), send(&mut sender));
    response.unwrap()
}

fn seen(response: &Response<Peekd>) -> Option<&[u8]> {
    response.extensions().get().map(|Peeked(bytes)| &bytes[..])
}

async fn data(sender: &mut Sender, data: &'static [u8]) {
    sender.send_data(Bytes::from_static(data)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_first_bytes_are_seen_and_the_caller_gets_every_frame_as_it_came() {
    let response = sent(
        &layer(5),
        |head| head,
        async |sender| {
            for frame in [&b"ab"[..], b"", b"cdef", b"gh"] {
                data(sender, frame).await;
            }
            let trailers = HeaderMap::from_iter([("a".parse().unwrap(), "1".parse().unwrap())]);
            sender.send_trailers(trailers).await.unwrap();
        },
    )
    .await;
    assert_eq!(seen(&response), Some(&b"abcde"[..]));

    let mut body = response.into_body();
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().now_or_never().flatten() {
        match frame.unwrap().into_data() {
            Ok(data) => frames.push(data),
            Err(trailers) => assert_eq!(trailers.into_trailers().unwrap()["a"], "1"),
        }
        if frames.len() == 4 && body.is_end_stream() {
            break;
        }
    }
    assert_eq!(frames, ["ab", "", "cdef", "gh"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_named_passes_as_it_is() {
    for (status, content_type) in [
        (200, "text/html"),
        (200, "application/json+x"),
        (404, "application/json"),
    ] {
        let head = |_| {
            Response::builder()
                .status(status)
                .header("content-type", content_type)
        };
        // Nothing is sent: it would be waited for.
        let response = sent(&layer(5), head, async |_| ()).await;
        assert_eq!(seen(&response), None, "{status} {content_type}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_body_is_seen_whole_and_its_size_is_known() {
    for body in ["", "x", "five5"] {
        let stack = layer(5).layer(service_fn(move |_: Request<()>| async move {
            Response::builder()
                .header("content-type", "APPLICATION/JSON")
                .body(Full::<Bytes>::from(body))
        }));
        let response = stack.oneshot(Request::new(())).await.unwrap();
        let Peeked(bytes) = response.extensions().get().unwrap();
        assert_eq!(bytes, body);
        assert_eq!(response.body().size_hint().exact(), Some(body.len() as u64));
        assert_eq!(response.body().is_end_stream(), body.is_empty());
        assert_eq!(
            response.into_body().collect().await.unwrap().to_bytes(),
            body
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_is_held_back_no_longer_than_was_said() {
    let origin = now();
    let (mut sender, body) = Channel::<Bytes, io::Error>::new(16);
    sender.send_data(Bytes::from_static(b"ab")).await.unwrap();
    let body = std::sync::Mutex::new(Some(body));
    let layer = layer(5).within(Duration::from_millis(250));
    let stack = layer.layer(service_fn(|_: Request<()>| {
        let body = body.lock().unwrap().take().unwrap();
        async {
            Response::builder()
                .header("content-type", "application/json")
                .body(body)
        }
    }));
    let response = stack.oneshot(Request::new(())).await.unwrap();
    assert_eq!(now() - origin, Duration::from_millis(250));
    assert_eq!(seen(&response), Some(&b"ab"[..]));

    // The rest comes as it would have.
    let mut body = response.into_body();
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        "ab"
    );
    assert!(body.frame().now_or_never().is_none());
    sender.send_data(Bytes::from_static(b"cd")).await.unwrap();
    assert_eq!(
        body.frame().await.unwrap().unwrap().into_data().unwrap(),
        "cd"
    );
    drop(sender);
    advance(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_within_the_first_bytes_is_the_callers() {
    let response = sent(
        &layer(50),
        |head| head,
        async |sender| {
            data(sender, b"half").await;
            sender.send_trailers(HeaderMap::new()).await.unwrap();
        },
    )
    .await;
    assert_eq!(seen(&response), Some(&b"half"[..]));

    let (sender, body) = Channel::<Bytes, io::Error>::new(16);
    sender.abort(io::Error::other("reset"));
    let body = std::sync::Mutex::new(Some(body));
    let stack = layer(5).layer(service_fn(|_: Request<()>| {
        let body = body.lock().unwrap().take().unwrap();
        async {
            Response::builder()
                .header("content-type", "application/json")
                .body(body)
        }
    }));
    let response = stack.oneshot(Request::new(())).await.unwrap();
    assert_eq!(seen(&response), Some(&b""[..]));
    let mut body = response.into_body();
    assert_eq!(
        body.frame().await.unwrap().unwrap_err().to_string(),
        "reset"
    );
    assert!(body.frame().await.is_none());
}

#[expect(clippy::disallowed_methods, reason = "a test reads the paused clock")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// 403 that says which it is in its body alone: a limit, or no permission.
#[tokio::test(start_paused = true)]
async fn a_throttle_that_only_the_body_tells_is_classified_and_the_body_stays_whole() {
    let classifier = HttpClassifier::default().body(|status, body| {
        let says = body
            .windows(20)
            .any(|window| window == b"secondary rate limit");
        (status == 403 && says).then_some(Outcome::Overload(Cause::Throttled))
    });
    let far = [&vec![b' '; 64 * 1024][..], b"secondary rate limit"].concat();
    let cases = [
        (Vec::new(), Outcome::Ignored),
        (b"x".to_vec(), Outcome::Ignored),
        (
            br#"{"message":"secondary rate limit"}"#.to_vec(),
            Outcome::Overload(Cause::Throttled),
        ),
        // Beyond the first bytes nobody looks, however long it is.
        (far, Outcome::Ignored),
        // Compressed, which is not looked into.
        (vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0], Outcome::Ignored),
    ];
    for (body, outcome) in cases {
        let sent = Bytes::from(body);
        let stack = layer(4_096).layer(service_fn(|_: Request<()>| {
            let body = Full::new(sent.clone());
            async {
                let head = Response::builder().status(403);
                head.header("content-type", "application/json").body(body)
            }
        }));
        let request = Request::new(());
        let response = stack.oneshot(Request::new(())).await.unwrap();
        let heard = heard(&classifier, &request, &response);
        assert_eq!(heard, When::Now(outcome.into()), "{} bytes", sent.len());
        assert_eq!(
            response.into_body().collect().await.unwrap().to_bytes(),
            sent
        );
    }
}

fn heard<Req, Res>(classifier: &impl Classify<Req, Res>, request: &Req, response: &Res) -> When {
    let mut call = classifier.request(request);
    classifier.response(&mut call, response)
}
