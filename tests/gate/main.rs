//! What a gate does with requests, through the layer.

mod closing;
mod holding;
mod limit;
#[path = "../support/loopback.rs"]
mod loopback;
mod parked;
mod settings;
#[path = "../support/mod.rs"]
mod support;
mod unread;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use tidegate_testkit::Upstream;
use tokio::time::sleep;
use tower::{Service, service_fn};

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(path).body(Empty::new()).expect("a request")
}

/// Works for as long as the request says.
fn work()
-> impl Service<Duration, Response = (), Error = io::Error, Future: Send> + Clone + Send + 'static {
    service_fn(async |takes| {
        sleep(takes).await;
        Ok(())
    })
}

/// When each request arrived.
fn arrivals(upstream: &Upstream) -> Vec<Duration> {
    upstream
        .arrivals()
        .iter()
        .map(|arrival| arrival.at)
        .collect()
}
