//! Whatever happens to requests, permits, samples and the upstream's counts agree.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Version};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, Error, Units};
use tidegate_testkit::{Body, Exponential, Fault, Upstream};
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::agree::{assert_arrived, assert_counted, assert_heard};
use crate::loopback::reqwest_client;
use crate::plan::Course;
use crate::recording::Heard;
use crate::run::{Spy, Watched};

const SEEDS: u64 = 20;

const SLOW: [Fault; 2] = [
    Fault::SlowHead(Duration::from_millis(30)),
    Fault::SlowBody {
        chunk: 2,
        every: Duration::from_millis(2),
    },
];

fn of_http_1() -> Vec<Fault> {
    let of_connections = [
        Fault::ResetBeforeHead,
        Fault::ResetInHead,
        Fault::ResetInBody,
        Fault::HalfCloseBeforeHead,
        Fault::HalfCloseInBody,
        Fault::ShortBody,
    ];
    [of_connections.as_slice(), &SLOW].concat()
}

/// Those that leave the other streams of a connection alone.
fn of_http_2() -> Vec<Fault> {
    let of_streams = [Fault::ShortBody, Fault::ResetStream, Fault::RefusedStream];
    [of_streams.as_slice(), &SLOW].concat()
}

type Inner = BoxCloneSyncService<Request<Empty<Bytes>>, Response<Body>, BoxError>;

/// The upstream itself: only its silence ends in the timeout.
fn without_a_connection(upstream: &Upstream, spy: &Spy) -> Inner {
    let (spy, direct) = (spy.clone(), upstream.direct());
    BoxCloneSyncService::new(service_fn(move |request: Request<Empty<Bytes>>| {
        let (spy, direct) = (spy.clone(), direct.clone());
        async move {
            spy.note(request.uri().path());
            Ok(timeout(5.s(), direct.oneshot(request)).await??)
        }
    }))
}

/// Of a stack without a connection, whose layers are made anew for each seed.
async fn assert_exact<L, B>(seeds: u64, layers: impl Fn(usize) -> (Watched, L))
where
    L: Layer<Inner>,
    L::Service: Service<Request<Empty<Bytes>>, Response = Response<B>, Error = Error, Future: Send>
        + Clone
        + Send
        + 'static,
    B: http_body::Body<Data: Send, Error: Into<BoxError>> + Unpin + Send + 'static,
{
    let mut total = Heard::default();
    for seed in 0..seeds {
        let course = Course {
            requests: 10_000,
            time: 20.s(),
            faults: [of_http_1(), vec![Fault::Silence]].concat(),
            version: Version::HTTP_11,
            seed,
        };
        let plans = course.plans();
        let upstream = course
            .upstream(&plans)
            .service_time(Exponential(20.ms()))
            .start_in_process();
        let (watched, layers) = layers(course.requests);
        let stack = layers.layer(without_a_connection(&upstream, &watched.spy));
        let seen = watched.run(&course, &plans, stack, &upstream).await;
        let heard = assert_heard(&course, &plans, &seen, &watched);
        assert_arrived(&plans, &seen, &upstream);
        assert_counted(&plans, &seen, &upstream);
        total.add(&heard);
    }
    total.assert_moved();
    println!("{seeds} seeds: {}", total.summary());
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_permits_samples_and_all_counts_agree() {
    assert_exact(SEEDS, Watched::two_layers).await;
}

#[tokio::test(start_paused = true)]
async fn they_agree_also_where_gate_and_law_are_one_layer() {
    assert_exact(4, Watched::one_layer).await;
}

#[tokio::test(start_paused = true)]
async fn through_hyper_util_permits_samples_and_arrivals_agree() {
    for (version, faults) in [
        (Version::HTTP_11, of_http_1()),
        (Version::HTTP_2, of_http_2()),
    ] {
        let mut total = Heard::default();
        for seed in 0..SEEDS {
            let course = Course {
                requests: 1_000,
                time: 2.s(),
                faults: faults.clone(),
                version,
                seed,
            };
            let plans = course.plans();
            let upstream = course
                .upstream(&plans)
                .service_time(Exponential(20.ms()))
                .start_in_process();
            let client = Client::builder(TokioExecutor::new())
                .http2_only(version == Version::HTTP_2)
                .build::<_, Empty<Bytes>>(upstream.connector());
            let (watched, layers) = Watched::two_layers(course.requests);
            let spy = watched.spy.clone();
            let stack = ServiceBuilder::new().layer(layers).service_fn(
                move |request: Request<Empty<Bytes>>| {
                    let (spy, client) = (spy.clone(), client.clone());
                    async move {
                        spy.note(request.uri().path());
                        client.request(request).await
                    }
                },
            );
            let seen = watched.run(&course, &plans, stack, &upstream).await;
            let heard = assert_heard(&course, &plans, &seen, &watched);
            upstream.shutdown().await;
            assert_arrived(&plans, &seen, &upstream);
            total.add(&heard);
        }
        total.assert_moved();
        println!("{SEEDS} seeds over {version:?}: {}", total.summary());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_loopback_through_reqwest_permits_samples_and_arrivals_agree() {
    let course = Course {
        requests: 2_000,
        time: 2.s(),
        faults: of_http_1(),
        version: Version::HTTP_11,
        seed: 7,
    };
    let plans = course.plans();
    let upstream = course
        .upstream(&plans)
        .service_time(Exponential(2.ms()))
        .start()
        .await;
    let client = reqwest_client().build().unwrap();
    let (watched, layers) = Watched::two_layers(course.requests);
    let spy = watched.spy.clone();
    let stack = ServiceBuilder::new()
        .map_request(|request: Request<Empty<Bytes>>| {
            let url = request.uri().to_string().parse().unwrap();
            reqwest::Request::new(Method::GET, url)
        })
        .map_response(Response::<reqwest::Body>::from)
        .layer(layers)
        .service(service_fn(move |request: reqwest::Request| {
            let (spy, client) = (spy.clone(), client.clone());
            async move {
                spy.note(request.url().path());
                client.execute(request).await
            }
        }));
    let seen = watched.run(&course, &plans, stack, &upstream).await;
    let heard = assert_heard(&course, &plans, &seen, &watched);
    upstream.shutdown().await;
    assert_arrived(&plans, &seen, &upstream);
    heard.assert_moved();
    println!("{}", heard.summary());
}
