//! The span of a request.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bytes::Bytes;
use futures_util::future::join;
use http::{Request, Response};
use http_body_util::Full;
use tidegate_classify::Answer;
use tidegate_core::{Cause, Error, Outcome, Pace, Units, per_second};
use tidegate_gate::GateLayer;
use tidegate_retry::{Jitter, RetryLayer};
use tidegate_tracing::{Events, SpanLayer};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tracing::Level;

use crate::heard::{Heard, Line};

type Body = Full<Bytes>;

fn get() -> Request<Body> {
    let uri = "https://user:secret@api.example:8443/secret/path?key=secret#secret";
    Request::get(uri).body(Body::default()).unwrap()
}

/// It takes 300 ms, and answers with these statuses, the last of them for ever.
fn answers(
    statuses: &'static [u16],
) -> impl Service<
    Request<Body>,
    Response = Response<Body>,
    Error = io::Error,
    Future: Future<Output = io::Result<Response<Body>>> + Send,
> + Clone {
    let nth = Arc::new(AtomicUsize::new(0));
    service_fn(move |_| {
        let nth = nth.fetch_add(1, Relaxed).min(statuses.len() - 1);
        async move {
            sleep(300.ms()).await;
            let mut response = Response::new(Body::default());
            *response.status_mut() = statuses[nth].try_into().unwrap();
            Ok(response)
        }
    })
}

fn paced(pace: Pace) -> GateLayer {
    GateLayer::new(10).pace(pace.burst(1))
}

const HEAD: &str = "http.request.method=GET";
const TAIL: &str = "otel.kind=client otel.name=GET server.address=api.example server.port=8443";

#[tokio::test(start_paused = true)]
async fn a_span_says_how_long_the_request_waited_and_what_was_answered() {
    let (heard, _listening) = Heard::listen();
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(GateLayer::new(1).hold_head())
        .service(answers(&[200, 404]));
    let (first, second) = join(stack.clone().oneshot(get()), stack.oneshot(get())).await;
    assert_eq!(first.unwrap().status(), 200);
    assert_eq!(second.unwrap().status(), 404);
    let [first, second] = &heard.spans()[..] else {
        panic!("two spans");
    };
    assert_eq!(
        first.words(),
        format!("{HEAD} http.response.status_code=200 {TAIL} tidegate.wait_ms=0.0")
    );
    assert_eq!(
        second.words(),
        format!(
            "error.type=404 {HEAD} http.response.status_code=404 {TAIL} tidegate.wait_ms=300.0"
        )
    );
    assert_eq!(second.level, Level::DEBUG);
}

#[tokio::test(start_paused = true)]
async fn a_span_names_its_stack_if_that_has_a_name() {
    let (heard, _listening) = Heard::listen();
    let hostile = "https://me:secret@api.example/v1?key=secret";
    for name in ["users", hostile] {
        let stack = SpanLayer::new().name(name).layer(answers(&[200]));
        stack.clone().oneshot(get()).await.unwrap();
    }
    let spans = heard.spans();
    let names: Vec<_> = spans
        .iter()
        .map(|span| span.get("tidegate.stack"))
        .collect();
    assert_eq!(names, ["users", "https://api.example/v1"]);
}

#[tokio::test(start_paused = true)]
async fn above_a_retry_it_is_a_call_and_below_it_an_attempt() {
    let (heard, _listening) = Heard::listen();
    let events = Events::new("users");
    let gate = paced(per_second(1.0));
    events.attach(&gate.handle());
    let retry = RetryLayer::exponential(100.ms()..1.s()).jitter(Jitter::None);
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(retry.observe(events.observer()))
        .layer(SpanLayer::new())
        .layer(gate)
        .service(answers(&[503, 200]));
    stack.oneshot(get()).await.unwrap();

    let spans: Vec<_> = heard
        .spans()
        .iter()
        .map(|span| (span.within, span.words()))
        .collect();
    let ok = "http.response.status_code=200";
    let again = format!("{HEAD} http.request.resend_count=1 {ok} {TAIL}");
    // The second attempt begins after 300 ms and a back-off of 100, and a second after the first it is
    // let in.
    let expected = [
        (
            true,
            format!(
                "error.type=503 {HEAD} http.response.status_code=503 {TAIL} tidegate.wait_ms=0.0"
            ),
        ),
        (true, format!("{again} tidegate.wait_ms=600.0")),
        (false, format!("{again} tidegate.wait_ms=600.0")),
    ];
    assert_eq!(spans, expected);
    let events = heard.events();
    let words: Vec<_> = events.iter().map(|event| event.get("message")).collect();
    assert_eq!(words, ["tries again", "waited"]);
    assert!(events.iter().all(|event| event.within));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_by_whom_and_why_and_an_error_says_of_what_kind_it_is() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(1).hold_head();
    gate.handle().close();
    let refused = ServiceBuilder::new().layer(SpanLayer::new()).layer(gate);
    let error = refused.service(answers(&[200])).oneshot(get()).await;
    assert!(error.unwrap_err().refused().is_some());
    for kind in [
        io::ErrorKind::TimedOut,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::Other,
    ] {
        let fails = service_fn(move |_: Request<Body>| async move {
            Err::<Response<Body>, _>(io::Error::new(kind, "secret"))
        });
        let error: Error = SpanLayer::new()
            .layer(fails)
            .oneshot(get())
            .await
            .unwrap_err();
        assert!(error.find::<io::Error>().is_some());
    }
    let spans: Vec<_> = heard.spans().iter().map(Line::words).collect();
    let failed = |of_type: &str| format!("error.type={of_type} {HEAD} {TAIL}");
    assert_eq!(
        spans,
        [
            format!(
                "{} tidegate.refused_because=closed tidegate.refused_by=gate tidegate.wait_ms=0.0",
                failed("refused")
            ),
            failed("timed_out") + " tidegate.wait_ms=0.0",
            failed("connection") + " tidegate.wait_ms=0.0",
            failed("_OTHER") + " tidegate.wait_ms=0.0",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_retry_was_refused_says_so_and_counts_no_resend() {
    for (status, statuses, of_type) in [(503, &[503], "503"), (200, &[200], "_OTHER")] {
        let (heard, _listening) = Heard::listen();
        let events = Events::new("users");
        let overloaded = |_: Answer<'_, Response<Body>>| Outcome::Overload(Cause::Unavailable);
        let retry = RetryLayer::exponential(100.ms()..1.s()).classifier(overloaded);
        let stack = ServiceBuilder::new()
            .layer(SpanLayer::new())
            .layer(retry.observe(events.observer()))
            .layer(paced(per_second(0.1)).max_queue(0).hold_head())
            .service(answers(statuses));
        assert!(stack.oneshot(get()).await.is_err());
        assert_eq!(heard.events()[0].get("message"), "tries again");
        let [span] = &heard.spans()[..] else {
            panic!("one span");
        };
        assert_eq!(
            span.words(),
            format!(
                "error.type={of_type} {HEAD} http.response.status_code={status} {TAIL} \
                 tidegate.gave_up=refused tidegate.refused_because=queue_full \
                 tidegate.refused_by=gate tidegate.wait_ms=0.0"
            )
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_retry_gave_up_says_why_and_how_often_it_was_sent_again() {
    let (heard, _listening) = Heard::listen();
    let retry = RetryLayer::exponential(100.ms()..1.s()).jitter(Jitter::None);
    // Nobody observes it: the error tells.
    let sent = retry.clone().attempts(2);
    let fails = service_fn(async |_: Request<Body>| {
        Err::<Response<Body>, _>(io::Error::new(io::ErrorKind::ConnectionReset, "secret"))
    });
    let stack = ServiceBuilder::new().layer(SpanLayer::new()).layer(sent);
    assert!(stack.service(fails).oneshot(get()).await.is_err());
    // Each of three attempts is refused, and none sent, so the back-off is a wait.
    let gate = GateLayer::new(1).hold_head();
    gate.handle().close();
    let unsent = retry.retry_refusals();
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(unsent.observe(Events::new("users").observer()))
        .layer(gate);
    let error = stack.service(answers(&[200])).oneshot(get()).await;
    assert!(error.unwrap_err().refused().is_some());

    let spans: Vec<_> = heard.spans().iter().map(Line::words).collect();
    assert_eq!(
        spans,
        [
            format!(
                "error.type=connection {HEAD} http.request.resend_count=1 {TAIL} \
                 tidegate.gave_up=attempts tidegate.wait_ms=0.0"
            ),
            format!(
                "error.type=refused {HEAD} {TAIL} tidegate.gave_up=attempts \
                 tidegate.refused_because=closed tidegate.refused_by=gate tidegate.wait_ms=300.0"
            ),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn of_a_response_that_a_retry_gave_up_on_events_know_why_it_is_the_last() {
    let (heard, _listening) = Heard::listen();
    let retry = || RetryLayer::exponential(100.ms()..1.s()).attempts(2);
    let observed = retry().observe(Events::new("users").observer());
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(observed);
    let stack = stack.service(answers(&[503, 503, 503, 200]));
    assert_eq!(stack.clone().oneshot(get()).await.unwrap().status(), 503);
    assert_eq!(stack.oneshot(get()).await.unwrap().status(), 200);
    let events = heard.events();
    let [_, gave_up, _] = &events[..] else {
        panic!("{events:?}");
    };
    let words = "message=gave up reason=attempts sent=2 stack=users";
    assert_eq!((gave_up.words(), gave_up.within), (words.to_owned(), true));
    let spans = heard.spans();
    let why = spans.iter().map(|span| span.get("tidegate.gave_up"));
    // The second call gave nothing up: it was answered.
    assert_eq!(why.collect::<Vec<_>>(), ["attempts", ""]);
}

#[tokio::test(start_paused = true)]
async fn one_that_its_caller_gave_up_while_it_waited_says_for_how_long() {
    let (heard, _listening) = Heard::listen();
    let gate = GateLayer::new(1).hold_head();
    let _taken = gate.handle().try_acquire();
    let stack = SpanLayer::new().layer(gate.layer(answers(&[200])));
    assert!(timeout(200.ms(), stack.oneshot(get())).await.is_err());
    let [span] = &heard.spans()[..] else {
        panic!("one span");
    };
    assert_eq!(
        span.words(),
        format!("error.type=cancelled {HEAD} {TAIL} tidegate.wait_ms=200.0")
    );
}

#[tokio::test(start_paused = true)]
async fn time_between_two_waits_is_no_wait() {
    let (heard, _listening) = Heard::listen();
    let retry = RetryLayer::exponential(100.ms()..1.s()).jitter(Jitter::None);
    let stack = ServiceBuilder::new()
        .layer(SpanLayer::new())
        .layer(retry)
        .layer(paced(per_second(1.0)))
        .service(answers(&[503, 503, 200]));
    stack.clone().oneshot(get()).await.unwrap();
    // 600 ms, and after a back-off of 200 ms 500.
    let spans = heard.spans();
    assert_eq!(spans[0].get("tidegate.wait_ms"), "1100.0");
    // Nobody says how often it was sent: no `Events` observe the retry.
    assert_eq!(spans[0].get("http.request.resend_count"), "");
}
