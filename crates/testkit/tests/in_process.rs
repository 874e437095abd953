//! The upstream in process, under a paused clock: every time is exact.

use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_testkit::{Connector, Direct, Exponential, Fixed, Report, Response, Upstream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' one look at the paused clock"
)]
fn now() -> Instant {
    Instant::now()
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://upstream.test{path}");
    Request::get(uri).body(Empty::new()).unwrap()
}

type HttpClient = Client<Connector, Empty<Bytes>>;

fn http1(upstream: &Upstream) -> HttpClient {
    Client::builder(TokioExecutor::new()).build(upstream.connector())
}

fn http2(upstream: &Upstream) -> HttpClient {
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build(upstream.connector())
}

/// Status, and when the response was complete.
async fn answer_of(direct: Direct, path: &str, origin: Instant) -> (u16, Duration) {
    let response = direct.oneshot(get(path)).await.unwrap();
    let status = response.status().as_u16();
    response.into_body().collect().await.unwrap();
    (status, now() - origin)
}

/// All at once, in the order they end.
async fn answers(upstream: &Upstream, count: usize) -> Vec<(u16, Duration)> {
    let origin = now();
    let mut requests = JoinSet::new();
    for _ in 0..count {
        requests.spawn(answer_of(upstream.direct(), "/", origin));
    }
    let mut answers = requests.join_all().await;
    answers.sort_by_key(|(_, at)| *at);
    answers
}

fn ends(report: &Report) -> (u64, u64, u64, u64, u64) {
    (
        report.arrivals,
        report.served,
        report.refused,
        report.cancelled,
        report.aborted,
    )
}

#[tokio::test(start_paused = true)]
async fn a_service_time_of_20_ms_answers_at_exactly_20_ms() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(20)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let origin = now();
        let response = client.request(get("/")).await.unwrap();
        assert_eq!(
            (response.status(), now() - origin),
            (StatusCode::OK, ms(20))
        );
    }
    assert_eq!(answers(&upstream, 3).await, [(200, ms(20)); 3]);
}

#[tokio::test(start_paused = true)]
async fn workers_then_the_queue_then_refusals_at_once() {
    let upstream = Upstream::workers(2)
        .queue(2)
        .service_time(Fixed(ms(20)))
        .refusal_status(429)
        .start_in_process();
    assert_eq!(
        answers(&upstream, 6).await,
        [
            (429, ms(0)),
            (429, ms(0)),
            (200, ms(20)),
            (200, ms(20)),
            (200, ms(40)),
            (200, ms(40)),
        ]
    );
    assert_eq!(upstream.peak_in_flight(), 4);
    assert_eq!(upstream.in_flight(), 0);
    assert_eq!(ends(&upstream.report()), (6, 4, 2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn no_queue_is_pure_loss() {
    let upstream = Upstream::workers(1)
        .queue(0)
        .service_time(Fixed(ms(5)))
        .start_in_process();
    assert_eq!(
        answers(&upstream, 3).await,
        [(503, ms(0)), (503, ms(0)), (200, ms(5))]
    );
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_give_equal_runs() {
    let run = async |seed| {
        let upstream = Upstream::workers(3)
            .service_time(Exponential(ms(20)))
            .seed(seed)
            .start_in_process();
        answers(&upstream, 100).await
    };
    assert_eq!(run(1).await, run(1).await);
    assert_ne!(run(1).await, run(2).await);
}

#[tokio::test(start_paused = true)]
async fn a_saturated_worker_keeps_its_rate_although_timers_count_milliseconds() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(Duration::from_micros(300)))
        .start_in_process();
    let answers = answers(&upstream, 100).await;
    assert_eq!(answers.last(), Some(&(200, ms(30))));
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_the_queue_leaves_no_trace_in_it() {
    let upstream = Upstream::workers(1)
        .queue(2)
        .service_time(Fixed(ms(20)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let origin = now();
        let first = tokio::spawn(client.request(get("/first")));
        sleep(ms(1)).await;
        timeout(ms(4), client.request(get("/leaves")))
            .await
            .unwrap_err();
        sleep(ms(1)).await;
        assert_eq!(upstream.in_flight(), 1);
        client.request(get("/third")).await.unwrap();
        assert_eq!(now() - origin, ms(40));
        first.await.unwrap().unwrap();
    }
    assert_eq!(ends(&upstream.report()), (6, 4, 0, 2, 0));
    assert_eq!(upstream.report().by_key["/leaves"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_in_service_frees_the_worker() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(ms(20)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        timeout(ms(5), client.request(get("/"))).await.unwrap_err();
        sleep(ms(1)).await;
        assert_eq!(upstream.in_flight(), 0);
        let origin = now();
        client.request(get("/")).await.unwrap();
        assert_eq!(now() - origin, ms(20));
    }
}

#[tokio::test(start_paused = true)]
async fn abandoned_work_goes_on_where_it_is_set() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(ms(20)))
        .finish_abandoned_work()
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let origin = now();
        timeout(ms(5), client.request(get("/"))).await.unwrap_err();
        sleep(ms(1)).await;
        assert_eq!(upstream.in_flight(), 1);
        client.request(get("/")).await.unwrap();
        assert_eq!(now() - origin, ms(40));
    }
    assert_eq!(ends(&upstream.report()), (4, 2, 0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn half_the_capacity_takes_twice_as_long() {
    let upstream = Upstream::workers(4)
        .service_time(Fixed(ms(10)))
        .start_in_process();
    upstream.set_capacity(0.5);
    assert_eq!(answers(&upstream, 8).await.last(), Some(&(200, ms(40))));
    upstream.set_capacity(1.0);
    assert_eq!(answers(&upstream, 8).await.last(), Some(&(200, ms(20))));
}

#[tokio::test(start_paused = true)]
async fn more_capacity_calls_those_who_wait_at_once() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(ms(10)))
        .start_in_process();
    let (answers, ()) = tokio::join!(answers(&upstream, 3), async {
        sleep(ms(4)).await;
        upstream.set_capacity(3.0);
    });
    assert_eq!(answers, [(200, ms(10)), (200, ms(14)), (200, ms(14))]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_refuses_whoever_waits_or_comes() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(ms(10)))
        .start_in_process();
    let (during, ()) = tokio::join!(answers(&upstream, 3), async {
        sleep(ms(4)).await;
        upstream.set_capacity(0.0);
    });
    assert_eq!(during, [(503, ms(4)), (503, ms(4)), (200, ms(10))]);
    assert_eq!(answers(&upstream, 1).await, [(503, ms(0))]);
    assert_eq!(ends(&upstream.report()), (4, 1, 3, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_streaming_body_is_in_flight_to_its_end_or_drop() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(10)))
        .respond(|_| Response::new(200).chunks(10, "chunk", Duration::from_secs(1)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let origin = now();
        let whole = client.request(get("/")).await.unwrap();
        let dropped = client.request(get("/")).await.unwrap();
        assert_eq!((now() - origin, upstream.in_flight()), (ms(20), 2));
        sleep(ms(4_000)).await;
        drop(dropped);
        sleep(ms(1)).await;
        assert_eq!(upstream.in_flight(), 1);
        let body = whole.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((body.len(), now() - origin), (50, ms(9_010)));
        assert_eq!(upstream.in_flight(), 0);
    }
    assert_eq!(upstream.peak_in_flight(), 2);
    assert_eq!(ends(&upstream.report()), (4, 2, 0, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn forty_streams_at_once_are_forty_in_flight() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).chunks(3, "chunk", ms(100)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let mut requests = JoinSet::new();
        for _ in 0..40 {
            let client = client.clone();
            requests.spawn(async move {
                let response = client.request(get("/")).await.unwrap();
                response.into_body().collect().await.unwrap().to_bytes()
            });
        }
        let bodies = requests.join_all().await;
        assert!(bodies.iter().all(|body| body == "chunkchunkchunk"));
        assert_eq!((upstream.peak_in_flight(), upstream.in_flight()), (40, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_is_busy_until_the_body_ends() {
    let upstream = Upstream::workers(1)
        .respond(|_| Response::new(200).chunks(2, "chunk", ms(15)))
        .start_in_process();
    assert_eq!(answers(&upstream, 2).await, [(200, ms(15)), (200, ms(30))]);
}

#[tokio::test(start_paused = true)]
async fn a_body_without_frames_ends_with_its_head() {
    let upstream = Upstream::unlimited().start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let response = client.request(get("/")).await.unwrap();
        assert_eq!(upstream.in_flight(), 0);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.is_empty());
    }
    let response = upstream.direct().oneshot(get("/")).await.unwrap();
    assert_eq!(upstream.in_flight(), 0);
    drop(response);
    assert_eq!(ends(&upstream.report()), (3, 3, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_body_without_chunks_may_end_later_than_its_head() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).pause(ms(50)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let origin = now();
        let response = client.request(get("/")).await.unwrap();
        assert_eq!((now() - origin, upstream.in_flight()), (ms(0), 1));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((body.len(), now() - origin), (0, ms(50)));
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_follow_the_chunks() {
    let upstream = Upstream::unlimited()
        .respond(|_| {
            Response::new(200)
                .chunks(2, "chunk", ms(10))
                .trailer("grpc-status", "14")
        })
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let mut request = get("/");
        request
            .headers_mut()
            .insert("te", "trailers".parse().unwrap());
        let response = client.request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap();
        assert_eq!(body.trailers().unwrap()["grpc-status"], "14");
        assert_eq!(body.to_bytes(), "chunkchunk");
    }
    assert_eq!(ends(&upstream.report()), (2, 2, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_length_is_announced_when_it_is_asked_for() {
    let upstream = Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/body" => Response::new(200).body("hello"),
            "/sized" => Response::new(200).chunks(3, "chunk", ms(10)).sized(),
            "/late" => Response::new(200).chunk("hello").pause(ms(10)).sized(),
            _ => Response::new(200).chunks(3, "chunk", ms(10)),
        })
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        for (path, length, body) in [
            ("/body", Some("5"), "hello"),
            ("/sized", Some("15"), "chunkchunkchunk"),
            ("/late", Some("5"), "hello"),
            ("/", None, "chunkchunkchunk"),
        ] {
            let response = client.request(get(path)).await.unwrap();
            let announced = response.headers().get("content-length");
            assert_eq!(announced.map(|length| length.to_str().unwrap()), length);
            assert_eq!(
                response.into_body().collect().await.unwrap().to_bytes(),
                body
            );
        }
    }
    assert_eq!(ends(&upstream.report()), (8, 8, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_head_has_the_length_and_no_body() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).body("hello"))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let mut request = get("/");
        *request.method_mut() = http::Method::HEAD;
        let response = client.request(request).await.unwrap();
        assert_eq!(response.headers()["content-length"], "5");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body.is_empty());
    }
    assert_eq!(ends(&upstream.report()), (2, 2, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_aborted_body_is_an_error_after_what_came_before() {
    let upstream = Upstream::unlimited()
        .respond(|request| {
            let response = Response::new(200)
                .chunk("hel")
                .pause(ms(10))
                .abort()
                .chunk("lo");
            match request.uri().path() {
                "/sized" => response.sized(),
                _ => response,
            }
        })
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        for path in ["/sized", "/"] {
            let origin = now();
            let response = client.request(get(path)).await.unwrap();
            let mut body = response.into_body();
            let first = body.frame().await.unwrap().unwrap();
            assert_eq!(first.into_data().unwrap(), "hel");
            body.frame().await.unwrap().unwrap_err();
            assert_eq!(now() - origin, ms(10));
        }
    }
    let mut body = upstream
        .direct()
        .oneshot(get("/"))
        .await
        .unwrap()
        .into_body();
    body.frame().await.unwrap().unwrap();
    body.frame().await.unwrap().unwrap_err();
    assert!(body.frame().await.is_none());
    assert_eq!(ends(&upstream.report()), (5, 0, 0, 0, 5));
}

#[tokio::test(start_paused = true)]
async fn an_abort_without_a_pause_still_sends_the_head() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).abort())
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        let response = client.request(get("/")).await.unwrap();
        response.into_body().collect().await.unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_script_sees_the_request_with_its_body() {
    let upstream = Upstream::unlimited()
        .respond(|request| {
            Response::new(201)
                .header("x-method", request.method().as_str())
                .after(ms(7))
                .body(request.body().clone())
        })
        .start_in_process();
    let origin = now();
    let request = Request::post("http://upstream.test/echo")
        .body(http_body_util::Full::new(Bytes::from("hello")))
        .unwrap();
    let response = upstream.direct().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()["x-method"], "POST");
    assert_eq!(now() - origin, ms(7));
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        "hello"
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_when_and_of_which_key() {
    let upstream = Upstream::workers(1)
        .queue(0)
        .service_time(Fixed(ms(50)))
        .key(|head| {
            head.headers
                .get("x-user")
                .map_or("nobody", |user| user.to_str().unwrap())
                .into()
        })
        .start_in_process();
    sleep(ms(100)).await;
    for user in ["ada", "bob", "ada"] {
        let mut request = get("/");
        request
            .headers_mut()
            .insert("x-user", user.parse().unwrap());
        tokio::spawn(upstream.direct().oneshot(request));
        sleep(ms(10)).await;
    }
    let arrivals = upstream.arrivals();
    let log: Vec<_> = arrivals.iter().map(|a| (a.index, a.at, &*a.key)).collect();
    assert_eq!(
        log,
        [
            (0, ms(100), "ada"),
            (1, ms(110), "bob"),
            (2, ms(120), "ada")
        ]
    );
    assert_eq!(upstream.report().by_key["ada"], 2);
    assert_eq!(upstream.most_arrivals_in(ms(11)), 2);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_what_is_inside_end_and_refuses_the_rest() {
    let upstream = Upstream::workers(1)
        .service_time(Fixed(ms(10)))
        .start_in_process();
    for client in [http1(&upstream), http2(&upstream)] {
        client.request(get("/idle")).await.unwrap();
    }
    let origin = now();
    let client = http1(&upstream);
    let inside = [
        tokio::spawn(client.request(get("/"))),
        tokio::spawn(http2(&upstream).request(get("/"))),
    ];
    sleep(ms(1)).await;
    upstream.shutdown().await;
    assert_eq!(now() - origin, ms(20));
    for request in inside {
        assert_eq!(request.await.unwrap().unwrap().status(), StatusCode::OK);
    }
    assert!(client.request(get("/")).await.unwrap_err().is_connect());
    upstream.direct().oneshot(get("/")).await.unwrap_err();
    assert_eq!(ends(&upstream.report()), (4, 4, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn dropping_it_cuts_what_is_inside() {
    for way in ["direct", "http1", "http2"] {
        let upstream = Upstream::unlimited()
            .service_time(Fixed(ms(10)))
            .start_in_process();
        let origin = now();
        let request: JoinHandle<bool> = match way {
            "direct" => {
                let request = upstream.direct().oneshot(get("/"));
                tokio::spawn(async { request.await.is_err() })
            }
            "http1" => {
                let request = http1(&upstream).request(get("/"));
                tokio::spawn(async { request.await.is_err() })
            }
            _ => {
                let request = http2(&upstream).request(get("/"));
                tokio::spawn(async { request.await.is_err() })
            }
        };
        sleep(ms(2)).await;
        drop(upstream);
        assert!(request.await.unwrap(), "{way}");
        assert_eq!(now() - origin, ms(2), "{way}");
    }
}

/// By hand, since the server must find the start and the reset of a stream in one read.
#[tokio::test(start_paused = true)]
async fn streams_that_are_reset_at_once_do_not_cost_the_others_their_connection() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(10)))
        .start_in_process();
    let io = upstream.connector().oneshot(Uri::default()).await.unwrap();
    let (mut client, mut connection) = h2::client::handshake(io.into_inner()).await.unwrap();
    let request = || Request::get("http://upstream.test/").body(()).unwrap();
    let (stays, _) = client.send_request(request(), true).unwrap();
    let mut leave = Vec::new();
    for _ in 0..50 {
        leave.push(client.send_request(request(), true).unwrap());
    }
    assert!(poll_once(&mut connection).await.is_pending());
    for (_, stream) in &mut leave {
        stream.send_reset(h2::Reason::CANCEL);
    }
    assert!(poll_once(&mut connection).await.is_pending());
    tokio::spawn(connection);
    assert_eq!(stays.await.unwrap().status(), StatusCode::OK);
    assert_eq!(upstream.report().served, 1);
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx))).await
}

#[tokio::test(start_paused = true)]
async fn a_thousand_streams_share_one_connection() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(100)))
        .start_in_process();
    let client = http2(&upstream);
    client.request(get("/")).await.unwrap();
    let origin = now();
    let requests: JoinSet<_> = (0..1_000).map(|_| client.request(get("/"))).collect();
    for response in requests.join_all().await {
        assert_eq!(response.unwrap().status(), StatusCode::OK);
    }
    assert_eq!(
        (now() - origin, upstream.peak_in_flight()),
        (ms(100), 1_000)
    );
}
