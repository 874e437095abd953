use std::error::Error;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate_classify::errors;
use tidegate_core::{BoxError, Cause, Outcome, chain};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const THROTTLED: Outcome = Outcome::Overload(Cause::Throttled);
pub(crate) const TIMED_OUT: Outcome = Outcome::Overload(Cause::TimedOut);
pub(crate) const CONNECTION: Outcome = Outcome::Overload(Cause::Connection);

/// Whether the service did nothing with the request for certain.
pub(crate) const UNTOUCHED: bool = true;
pub(crate) const IN_DOUBT: bool = false;

/// What reqwest knows of the last thing it sent is no proof: it may have followed a redirect before.
pub(crate) fn untouched(client: &str) -> bool {
    client != "reqwest"
}

#[track_caller]
pub(crate) fn assert_says(
    error: &(dyn Error + 'static),
    outcome: Outcome,
    not_processed: bool,
    of: &str,
) {
    let links: Vec<_> = chain(error).map(|link| format!("{link:?}")).collect();
    assert_eq!(errors::outcome(error), outcome, "{of}: {links:#?}");
    assert_eq!(
        errors::not_processed(error),
        not_processed,
        "{of}: {links:#?}"
    );
}

/// Accepts connections and plays the same part on each.
pub(crate) async fn serve<F>(play: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(play(stream));
        }
    });
    address
}

/// How a server ends a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Close,
    Reset,
    Silence,
}

impl End {
    pub(crate) async fn of(self, stream: TcpStream) {
        match self {
            Self::Close => drop(stream),
            Self::Reset => stream.set_zero_linger().unwrap(),
            Self::Silence => std::future::pending().await,
        }
    }
}

/// Reads the head of an HTTP/1 request, writes these bytes, and ends.
pub(crate) async fn answer(bytes: &'static str, end: End) -> SocketAddr {
    serve(move |mut stream| async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(bytes.as_bytes()).await.unwrap();
        end.of(stream).await;
    })
    .await
}

/// A port on which nobody listens.
pub(crate) fn refused_port() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

pub(crate) type Hyper = legacy::Client<HttpConnector, Empty<Bytes>>;

pub(crate) fn hyper() -> Hyper {
    legacy::Client::builder(TokioExecutor::new()).build_http()
}

pub(crate) fn hyper_http2() -> Hyper {
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.http2_only(true).build_http()
}

/// Without retries of its own.
pub(crate) fn reqwest_builder() -> reqwest::ClientBuilder {
    // A second provider is refused; the first one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .retry(reqwest::retry::never())
        .tls_danger_accept_invalid_certs(true)
}

pub(crate) async fn get_hyper(client: &Hyper, url: &str) -> Result<Bytes, BoxError> {
    let response = client.get(url.parse()?).await?;
    Ok(response.into_body().collect().await?.to_bytes())
}

pub(crate) async fn get_reqwest(client: &reqwest::Client, url: &str) -> Result<Bytes, BoxError> {
    Ok(client.get(url).send().await?.bytes().await?)
}

/// The errors of both clients, by name.
pub(crate) async fn get(url: &str) -> [(&'static str, BoxError); 2] {
    let reqwest = reqwest_builder().build().unwrap();
    [
        ("hyper", get_hyper(&hyper(), url).await.unwrap_err()),
        ("reqwest", get_reqwest(&reqwest, url).await.unwrap_err()),
    ]
}

/// The same over HTTP/2.
pub(crate) async fn get_http2(url: &str) -> [(&'static str, BoxError); 2] {
    let reqwest = reqwest_builder().http2_prior_knowledge().build().unwrap();
    [
        ("hyper", get_hyper(&hyper_http2(), url).await.unwrap_err()),
        ("reqwest", get_reqwest(&reqwest, url).await.unwrap_err()),
    ]
}
