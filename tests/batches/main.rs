//! Batches through stacks of layers, on real clients.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/mod.rs"]
mod support;

mod drops;
mod limits;
mod redirects;
mod shutdown;
mod stacks;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::BoxError;
use tidegate_testkit::{Connector, Upstream};

pub(crate) type Hyper = Client<Connector, Full<Bytes>>;

pub(crate) fn client(upstream: &Upstream) -> Hyper {
    Client::builder(TokioExecutor::new()).build(upstream.connector())
}

pub(crate) fn requests(
    upstream: &Upstream,
    count: usize,
) -> impl Iterator<Item = Request<Full<Bytes>>> + use<> {
    let uri = upstream.uri().to_owned();
    (0..count).map(move |_| Request::get(&*uri).body(Full::default()).unwrap())
}

/// Reads the body to its end; anything but 200 is a failure.
pub(crate) async fn read<B>(
    response: Result<http::Response<B>, tidegate::Error>,
) -> Result<Bytes, BoxError>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let response = response?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(Into::into)?;
    if status == 200 {
        Ok(body.to_bytes())
    } else {
        Err(status.to_string().into())
    }
}
