//! What the tests of a retry share.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use tidegate::{Error, GaveUp, GaveUpReason, Jitter, RetryLayer, Units};
use tidegate_testkit::{Body, Direct, Response, Upstream, UpstreamBuilder};
use tower::{Layer, Service, ServiceExt};

pub(crate) type Answer = Result<http::Response<Body>, Error>;

/// 100 ms, 200 ms, 400 ms and so on up to 5 s, without chance.
pub(crate) fn retry() -> RetryLayer {
    RetryLayer::exponential(100.ms()..5.s()).jitter(Jitter::None)
}

pub(crate) fn request(method: Method) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri("http://upstream.test/tide")
        .body(Full::from("low"))
        .unwrap()
}

pub(crate) fn get() -> Request<Full<Bytes>> {
    request(Method::GET)
}

pub(crate) fn post() -> Request<Full<Bytes>> {
    request(Method::POST)
}

/// The first answers are these, one after the other; then 200.
pub(crate) fn answers(answers: impl Into<Vec<Response>>) -> UpstreamBuilder {
    let answers = answers.into();
    Upstream::unlimited().script(move |_, nth| answers.get(nth as usize).cloned())
}

pub(crate) async fn send<S>(stack: &S, request: Request<Full<Bytes>>) -> S::Response
where
    S: Service<Request<Full<Bytes>>, Error = Error> + Clone,
{
    stack.clone().oneshot(request).await.unwrap()
}

pub(crate) fn over(
    retry: &RetryLayer,
    upstream: &Upstream,
) -> impl Service<Request<Full<Bytes>>, Response = http::Response<Body>, Error = Error, Future: Send>
+ Clone {
    let direct: Direct = upstream.direct();
    retry.layer(direct)
}

/// When each request arrived.
pub(crate) fn arrivals(upstream: &Upstream) -> Vec<Duration> {
    let arrivals = upstream.arrivals().into_iter();
    arrivals.map(|arrival| arrival.at).collect()
}

/// Why an answer was the last.
#[track_caller]
pub(crate) fn reason(answer: &Answer) -> GaveUpReason {
    gave_up(answer).reason.clone()
}

#[track_caller]
pub(crate) fn gave_up(answer: &Answer) -> &GaveUp {
    match answer {
        Ok(response) => GaveUp::of(response),
        Err(error) => error.find(),
    }
    .unwrap()
}
