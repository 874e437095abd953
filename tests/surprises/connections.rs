use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::client::legacy::{Builder, Client};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tidegate::{Aimd, FeedbackLayer, GateLayer, HttpClassifier, Units};
use tidegate_testkit::{Fixed, Upstream};
use tokio::net::TcpListener;
use tokio::time::sleep;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::recording::Recording;

/// Counts the connections.
fn counting(
    upstream: &Upstream,
    connections: &Arc<AtomicUsize>,
) -> impl Connect + Clone + Send + Sync + 'static {
    let (mut connector, connections) = (upstream.connector(), Arc::clone(connections));
    service_fn(move |uri: Uri| {
        connections.fetch_add(1, Ordering::Relaxed);
        connector.call(uri)
    })
}

/// How many connections ten waves of ten requests take, and how many were at the upstream at once.
async fn waves(client: &Builder) -> (usize, usize) {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(10.ms()))
        .start_in_process();
    let connections = Arc::default();
    let client = client.build::<_, Empty<Bytes>>(counting(&upstream, &connections));
    let stack = GateLayer::new(10).layer(client);
    for _ in 0..10 {
        join_all((0..10).map(|_| async {
            let request = Request::get("http://upstream.test/")
                .body(Empty::new())
                .unwrap();
            let response = stack.clone().oneshot(request).await.unwrap();
            response.into_body().collect().await.unwrap();
        }))
        .await;
        // The pool takes its connections back.
        sleep(1.ms()).await;
    }
    (
        connections.load(Ordering::Relaxed),
        upstream.peak_in_flight(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_pool_smaller_than_the_limit_makes_connections_anew_and_limits_nobody() {
    let builder = || Client::builder(TokioExecutor::new());
    assert_eq!(waves(&builder()).await, (10, 10));
    let of_one = waves(builder().pool_max_idle_per_host(1)).await;
    assert_eq!(of_one, (10 + 9 * 9, 10));
    assert_eq!(waves(builder().http2_only(true)).await, (1, 10));
}

/// How many requests a server works on at once.
#[derive(Debug, Default)]
struct Inside {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Inside {
    async fn work(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        sleep(WORK).await;
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

const WORK: Duration = Duration::from_millis(10);

/// Takes two streams at once on each connection, and one connection.
async fn two_streams(listener: TcpListener, inside: Arc<Inside>) -> io::Result<()> {
    let (stream, _) = listener.accept().await?;
    let work = service_fn(move |_| {
        let inside = Arc::clone(&inside);
        async move {
            inside.work().await;
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().max_concurrent_streams(2);
    let (stream, work) = (TokioIo::new(stream), TowerToHyperService::new(work));
    let connection = server.serve_connection(stream, work);
    connection.await.map_err(io::Error::other)
}

/// What is seen of ten requests through a gate of that limit: the most that the law saw in flight,
/// the most that were at the server, the longest latency.
async fn ten_through(limit: usize) -> io::Result<(usize, usize, Duration)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let uri = format!("http://{}/", listener.local_addr()?);
    let inside = Arc::<Inside>::default();
    let server = tokio::spawn(two_streams(listener, Arc::clone(&inside)));

    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new().start(limit).max(limit));
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build::<_, Empty<Bytes>>(HttpConnector::new());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client);
    let call = async || {
        let request = Request::get(&uri).body(Empty::new()).unwrap();
        drop(stack.clone().oneshot(request).await.unwrap());
    };
    // After the first one the client knows how many streams there may be.
    call().await;
    join_all((0..10).map(|_| call())).await;
    server.abort();

    let samples = law.heard().samples;
    let in_flight = samples.iter().map(|sample| sample.in_flight_at_start);
    let latency = samples.iter().filter_map(|sample| sample.latency);
    let most = inside.most.load(Ordering::Relaxed);
    Ok((in_flight.max().unwrap(), most, latency.max().unwrap()))
}

#[tokio::test]
async fn streams_that_a_server_does_not_allow_wait_in_the_client_and_count_as_latency()
-> io::Result<()> {
    let (in_flight, at_server, latency) = ten_through(10).await?;
    assert_eq!((in_flight, at_server), (10, 2));
    assert!(latency >= 5 * WORK, "{latency:?}");

    let (in_flight, at_server, _) = ten_through(2).await?;
    assert_eq!((in_flight, at_server), (2, 2));
    Ok(())
}
