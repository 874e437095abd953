//! What the tests under a paused clock share.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate_testkit::{Connector, Upstream};
use tokio::time::Instant;

pub(crate) const VERSIONS: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' one look at the paused clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) fn get(path: &str) -> Request<Empty<Bytes>> {
    let uri = format!("http://upstream.test{path}");
    Request::get(uri).body(Empty::new()).unwrap()
}

pub(crate) fn client(upstream: &Upstream, version: Version) -> Client<Connector, Empty<Bytes>> {
    Client::builder(TokioExecutor::new())
        .http2_only(version == Version::HTTP_2)
        .build(upstream.connector())
}
