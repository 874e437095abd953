//! Running out of descriptors or ports is told as itself. In a file, so a process, of its own: it
//! takes the descriptors of everything else in it.
#![cfg(unix)]

use std::net::{Ipv4Addr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rlimit::Resource;
use tidegate_testkit::{Exhausted, Fixed, Upstream, raise_descriptor_limit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

fn get(uri: &str) -> Request<Empty<Bytes>> {
    Request::get(uri).body(Empty::new()).unwrap()
}

/// One test after the other, its runtime included, which takes descriptors of its own.
fn alone(test: impl Future<Output = ()>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

/// Fills the limit of this process with connections that nobody has accepted yet.
fn take_all_descriptors(upstream: &Upstream) -> Vec<TcpStream> {
    Resource::NOFILE
        .set(100, Resource::NOFILE.get_hard().unwrap())
        .unwrap();
    let address = upstream.uri().strip_prefix("http://").unwrap();
    let mut taken = Vec::new();
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => taken.push(stream),
            Err(error) => {
                assert_eq!(Exhausted::find(&error), Some(Exhausted::Descriptors));
                return taken;
            }
        }
    }
}

async fn until_an_accept_fails(upstream: &Upstream) {
    while upstream.report().accept_errors == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(upstream.report().exhausted, Some(Exhausted::Descriptors));
}

#[test]
fn out_of_descriptors_is_told_by_both_ends_and_passes() {
    alone(async {
        let upstream = Upstream::unlimited().start().await;
        let client: Client<_, _> = Client::builder(TokioExecutor::new()).build_http();

        let taken = take_all_descriptors(&upstream);
        let error = client.request(get(upstream.uri())).await.unwrap_err();
        assert_eq!(Exhausted::find(&error), Some(Exhausted::Descriptors));
        until_an_accept_fails(&upstream).await;

        drop(taken);
        raise_descriptor_limit().unwrap();
        let response = client.request(get(upstream.uri())).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    });
}

#[test]
fn idle_connections_give_their_descriptors_to_those_who_wait() {
    alone(async {
        let upstream = Upstream::unlimited()
            .service_time(Fixed(Duration::from_millis(20)))
            .start()
            .await;
        let client: Client<_, _> = Client::builder(TokioExecutor::new()).build_http();
        let requests: JoinSet<_> = (0..20)
            .map(|_| client.request(get(upstream.uri())))
            .collect();
        for response in requests.join_all().await {
            response.unwrap();
        }

        let mut taken = take_all_descriptors(&upstream);
        until_an_accept_fails(&upstream).await;
        let first = taken.swap_remove(0);
        first.set_nonblocking(true).unwrap();
        let mut first = tokio::net::TcpStream::from_std(first).unwrap();
        let request = b"GET / HTTP/1.1\r\nhost: upstream.test\r\nconnection: close\r\n\r\n";
        first.write_all(request).await.unwrap();
        let mut response = String::new();
        let read = first.read_to_string(&mut response);
        timeout(Duration::from_secs(10), read)
            .await
            .expect("accepted")
            .unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"));
        raise_descriptor_limit().unwrap();
    });
}

/// Binding to an address that is not ours fails as running out of ports does; nothing is sent.
#[test]
fn no_local_address_is_found_along_a_clients_error() {
    alone(async {
        let upstream = Upstream::unlimited().start().await;
        let mut connector = HttpConnector::new();
        connector.set_local_address(Some(Ipv4Addr::new(192, 0, 2, 1).into()));
        let client: Client<_, _> = Client::builder(TokioExecutor::new()).build(connector);
        let error = client.request(get(upstream.uri())).await.unwrap_err();
        assert_eq!(Exhausted::find(&error), Some(Exhausted::LocalPorts));
    });
}
