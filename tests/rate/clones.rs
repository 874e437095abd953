//! One bucket, however the service that stands before it is cloned, boxed, queued for or served.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tidegate::{BoxError, Client, RateLayer, Units};
use tidegate_testkit::{Arrival, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tower::buffer::Buffer;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::Sends;
use crate::loopback::reqwest_client;

const CALLS: usize = 1_500;

/// All at once, through a clone each.
async fn a_clone_per_request<S>(service: S)
where
    S: Service<u32, Error: std::fmt::Debug, Response: Send, Future: Send> + Clone,
{
    let calls = (0..CALLS).map(|_| service.clone().oneshot(1));
    assert!(join_all(calls).await.iter().all(Result::is_ok));
}

/// Five a second with a burst of one: in no second more than five, and never less.
#[track_caller]
fn assert_five_a_second(sends: &Sends) {
    let even: Vec<_> = (0..CALLS as u128).map(|call| call * 200).collect();
    assert_eq!(sends.millis(), even);
    assert_eq!(sends.most_in(1.s()), 5);
}

#[tokio::test(start_paused = true)]
async fn a_clone_for_each_request_is_the_same_rate() {
    let sends = Sends::new();
    a_clone_per_request(RateLayer::per_second(5.0).layer(sends.service())).await;
    assert_five_a_second(&sends);
}

#[tokio::test(start_paused = true)]
async fn a_rate_in_a_buffer_and_one_over_a_buffer_are_one_rate_for_all_clones() {
    let sends = Sends::new();
    let rate = RateLayer::per_second(5.0);
    a_clone_per_request(Buffer::new(rate.layer(sends.service()), 10)).await;
    assert_five_a_second(&sends);

    let sends = Sends::new();
    let rate = RateLayer::per_second(5.0);
    a_clone_per_request(rate.layer(Buffer::new(sends.service(), 10))).await;
    assert_five_a_second(&sends);
}

#[tokio::test(start_paused = true)]
async fn a_rate_in_a_box_that_can_be_cloned_is_one_rate_for_all_clones() {
    let sends = Sends::new();
    let rate = RateLayer::per_second(5.0);
    a_clone_per_request(BoxCloneSyncService::new(rate.layer(sends.service()))).await;
    assert_five_a_second(&sends);

    let sends = Sends::new();
    let rate = RateLayer::per_second(5.0);
    a_clone_per_request(Client::new(rate.layer(sends.service()))).await;
    assert_five_a_second(&sends);
}

#[tokio::test(start_paused = true)]
async fn two_services_of_one_layer_share_a_rate_and_two_layers_of_one_pace_do_not() {
    let rate = RateLayer::per_second(5.0);
    let shared = Sends::new();
    let [one, two] = [rate.layer(shared.service()), rate.layer(shared.service())];
    let halves = (0..CALLS).map(|call| {
        let service = if call % 2 == 0 { &one } else { &two };
        service.clone().oneshot(1)
    });
    join_all(halves).await;
    assert_five_a_second(&shared);

    let apart = Sends::new();
    let services = [(); 2].map(|()| RateLayer::per_second(5.0).layer(apart.service()));
    join_all((0..4).map(|call| services[call % 2].clone().oneshot(1))).await;
    assert_eq!(apart.millis(), [0, 0, 200, 200]);
}

/// What one connection says: so many requests, one behind the other.
fn pipelined(requests: usize) -> String {
    let get = "GET / HTTP/1.1\r\nhost: tide\r\n\r\n".repeat(requests - 1);
    format!("{get}GET / HTTP/1.1\r\nhost: tide\r\nconnection: close\r\n\r\n")
}

#[tokio::test(start_paused = true)]
async fn a_clone_for_each_connection_of_a_server_is_the_same_rate() {
    const CONNECTIONS: usize = 100;
    let sends = Sends::new();
    let log = sends.clone();
    let answers = service_fn(move |_: Request<_>| {
        log.note(1);
        async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("tide"))) }
    });
    let service = RateLayer::per_second(5.0).layer(answers);
    let connections = (0..CONNECTIONS).map(|_| {
        let (mut client, server) = duplex(1 << 16);
        let service = TowerToHyperService::new(service.clone());
        async move {
            let builder = Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection(TokioIo::new(server), service);
            let mut answers = String::new();
            let reads = async {
                let requests = pipelined(CALLS / CONNECTIONS);
                client.write_all(requests.as_bytes()).await.unwrap();
                client.read_to_string(&mut answers).await.unwrap();
            };
            let (end, ()) = tokio::join!(connection, reads);
            end.unwrap();
            answers.matches("200 OK").count()
        }
    });
    let answered: usize = join_all(connections).await.iter().sum();
    assert_eq!(answered, CALLS);
    assert_five_a_second(&sends);
}

/// Real time: they may arrive late, and none before its turn. The upstream is older than the rate.
#[track_caller]
fn assert_none_before_its_turn(arrivals: &[Arrival], period: Duration) {
    assert_eq!(arrivals.len(), 20);
    for (turn, arrival) in (0..).zip(arrivals) {
        assert!(arrival.at >= period * turn, "{turn} at {:?}", arrival.at);
    }
}

#[tokio::test]
async fn over_reqwest_the_upstream_sees_the_rate_of_all_clones() {
    let client = reqwest_client().build().unwrap();
    let upstream = Upstream::unlimited().start().await;
    let url: reqwest::Url = upstream.uri().parse().unwrap();
    let service = RateLayer::per_second(50.0).layer(client);
    let calls = (0..20).map(|_| {
        let request = reqwest::Request::new(http::Method::GET, url.clone());
        service.clone().oneshot(request)
    });
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_none_before_its_turn(&upstream.arrivals(), 20.ms());
}

/// As a layer of reqwest's connector it limits how many connections begin.
#[tokio::test]
async fn around_the_connector_of_reqwest_it_is_the_rate_of_new_connections() {
    let upstream = Upstream::unlimited().start().await;
    // It wants errors in a box.
    let layers = ServiceBuilder::new()
        .map_err(BoxError::from)
        .layer(RateLayer::per_second(50.0));
    let client = reqwest_client()
        .pool_max_idle_per_host(0)
        .connector_layer(layers)
        .build()
        .unwrap();
    let calls = (0..20).map(|_| client.clone().get(upstream.uri()).send());
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_none_before_its_turn(&upstream.arrivals(), 20.ms());
}
