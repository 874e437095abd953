//! The upstream on loopback, in real time: nothing here depends on how long anything takes.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate_testkit::{Exponential, Fault, Fixed, Response, Upstream, most_in};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type HttpClient = Client<HttpConnector, Empty<Bytes>>;

fn http1() -> HttpClient {
    Client::builder(TokioExecutor::new()).build_http()
}

fn http2() -> HttpClient {
    Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http()
}

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn one_port_speaks_both_versions() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).chunks(3, "chunk", ms(1)))
        .start()
        .await;
    for (client, version) in [(http1(), Version::HTTP_11), (http2(), Version::HTTP_2)] {
        let response = client.request(get(upstream.uri())).await.unwrap();
        assert_eq!(response.version(), version);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "chunkchunkchunk");
    }
    assert_eq!(upstream.report().served, 2);
}

#[tokio::test]
async fn overload_is_refused_and_never_more_inside_than_workers_and_queue() {
    let upstream = Upstream::workers(4)
        .queue(4)
        .service_time(Exponential(ms(20)))
        .start()
        .await;
    for client in [http1(), http2()] {
        let mut requests = JoinSet::new();
        for _ in 0..100 {
            requests.spawn(client.request(get(upstream.uri())));
        }
        for response in requests.join_all().await {
            let status = response.unwrap().status();
            assert!([StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&status));
        }
    }
    let report = upstream.report();
    assert_eq!(report.arrivals, 200);
    assert_eq!(report.served + report.refused, 200);
    assert!(report.refused > 0);
    assert_eq!(report.peak_in_flight, 8);
}

#[tokio::test]
async fn a_thousand_connects_at_once_are_all_accepted() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(50)))
        .start()
        .await;
    let client = http1();
    let requests: JoinSet<_> = (0..1_000)
        .map(|_| client.request(get(upstream.uri())))
        .collect();
    for response in requests.join_all().await {
        assert_eq!(response.unwrap().status(), StatusCode::OK);
    }
    let report = upstream.report();
    assert_eq!((report.served, report.accept_errors), (1_000, 0));
}

#[test]
fn on_a_thread_it_serves_a_program_without_a_runtime() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).body("hello"))
        .start_on_thread();
    let address = upstream.uri().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = "GET / HTTP/1.1\r\nhost: upstream.test\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\nhello"));
    assert_eq!(upstream.report().served, 1);
}

#[tokio::test]
async fn after_a_shutdown_connections_are_refused() {
    for on_thread in [false, true] {
        let builder = Upstream::unlimited();
        let upstream = if on_thread {
            builder.start_on_thread()
        } else {
            builder.start().await
        };
        http1().request(get(upstream.uri())).await.unwrap();
        upstream.shutdown().await;
        let address = upstream.uri().strip_prefix("http://").unwrap();
        let error = TcpStream::connect(address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(upstream.report().arrivals, 1);
    }
}

/// Clients that leave at any moment, capacity that moves, four threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_arrival_ends_in_exactly_one_way() {
    for finish in [false, true] {
        let mut builder = Upstream::workers(8)
            .queue(8)
            .service_time(Exponential(ms(3)));
        if finish {
            builder = builder.finish_abandoned_work();
        }
        let upstream = builder
            .respond(|_| Response::new(200).chunks(2, "chunk", ms(1)))
            .start()
            .await;
        let (http1, http2) = (http1(), http2());
        let mut requests = JoinSet::new();
        for nth in 0..3_000 {
            let request = get(upstream.uri());
            let patience = Duration::from_micros(nth % 97 * 150);
            match nth % 3 {
                0 => {
                    let answer = read(http1.request(request));
                    requests.spawn(async move { timeout(patience, answer).await.is_ok() });
                }
                1 => {
                    let answer = read(http2.request(request));
                    requests.spawn(async move { timeout(patience, answer).await.is_ok() });
                }
                _ => {
                    let answer = read(upstream.direct().oneshot(request));
                    requests.spawn(async move { timeout(patience, answer).await.is_ok() });
                }
            }
            if nth % 64 == 0 {
                upstream.set_capacity([1.0, 0.25, 0.5, 0.0][nth as usize / 64 % 4]);
                tokio::time::sleep(ms(1)).await;
            }
        }
        requests.join_all().await;
        drop((http1, http2));
        upstream.shutdown().await;

        let report = upstream.report();
        assert_eq!(report.in_flight, 0);
        assert_eq!(
            report.arrivals,
            report.served + report.refused + report.cancelled
        );
        assert!(report.served > 0 && report.refused > 0 && report.cancelled > 0);
        assert!(report.peak_in_flight <= 16);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rate_is_exact_by_the_times_of_arrivals() {
    let upstream = Upstream::unlimited().rate(10_000.0, 5).start_in_process();
    let mut requests = JoinSet::new();
    for _ in 0..4 {
        let direct = upstream.direct();
        requests.spawn(async move {
            for _ in 0..5_000 {
                direct.clone().oneshot(get("http://a/")).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    requests.join_all().await;
    let arrivals = upstream.arrivals();
    let passed = arrivals.iter().filter(|arrival| arrival.executed.is_some());
    let passed: Vec<_> = passed.map(|arrival| arrival.at).collect();
    assert!(passed.is_sorted() && passed.len() > 5);
    for (window, most) in [(1, 14), (10, 104)] {
        assert!(most_in(ms(window), passed.iter().copied()) <= most);
    }
}

/// Connections that end in all ways at once, on four threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_and_upstream_agree_about_faults() {
    const REQUESTS: usize = 1_000;
    // Only a timeout would end it.
    let faults = Fault::EXAMPLES.map(|fault| (fault != Fault::Silence).then_some(fault));
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).body("hello"))
        .script(move |_, nth| faults[nth as usize % faults.len()])
        .start()
        .await;
    let mut requests = JoinSet::new();
    for nth in 0..REQUESTS {
        let client = if nth % 2 == 0 { http1() } else { http2() };
        let request = get(upstream.uri());
        requests.spawn(async move {
            let response = client.request(request).await.ok()?;
            drop(response.into_body().collect().await);
            Some(())
        });
    }
    let heads = requests.join_all().await.into_iter().flatten().count() as u64;
    upstream.shutdown().await;

    let report = upstream.report();
    assert_eq!(report.arrivals, REQUESTS as u64);
    assert_eq!(report.by_status[&200], heads);
    assert_eq!(report.executed, report.served + report.aborted);
    assert_eq!(report.executed + report.unanswered, report.arrivals);
}

async fn read<B: http_body::Body, E>(answer: impl Future<Output = Result<http::Response<B>, E>>) {
    if let Ok(response) = answer.await {
        drop(response.into_body().collect().await);
    }
}
