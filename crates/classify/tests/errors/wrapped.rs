use std::future::{Ready, ready};
use std::io;
use std::task::{Context, Poll, Waker};

use http_body_util::BodyExt;
use tidegate_classify::errors;
use tidegate_core::{BoxError, Error, Outcome, Refused, RefusedReason};
use tokio::net::TcpStream;
use tokio::time::Duration;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{
    CONNECTION, End, Hyper, IN_DOUBT, TIMED_OUT, UNTOUCHED, answer, assert_says, get, get_hyper,
    hyper, refused_port, untouched,
};

#[tokio::test]
async fn an_error_is_seen_through_a_buffer_a_timeout_and_our_own() {
    let url = format!("http://{}/", refused_port());
    let client = hyper();
    let get = move |url: String| {
        let client: Hyper = client.clone();
        async move { get_hyper(&client, &url).await }
    };
    let stack = ServiceBuilder::new()
        .map_err(Error::service)
        .buffer(1)
        .map_err(Error::service)
        .timeout(Duration::from_secs(60))
        .service(service_fn(get));
    let error = stack.oneshot(url).await.unwrap_err();
    assert_says(&error, CONNECTION, UNTOUCHED, "wrapped four times");
}

/// Says at once that it will never be ready.
struct Broken(Option<BoxError>);

impl Service<()> for Broken {
    type Response = ();
    type Error = BoxError;
    type Future = Ready<Result<(), BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(self.0.take().map_or(Ok(()), Err))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        ready(Ok(()))
    }
}

#[tokio::test]
async fn an_error_is_seen_in_what_a_buffer_shares_between_its_callers() {
    let url = format!("http://{}/", refused_port());
    let error = get_hyper(&hyper(), &url).await.unwrap_err();
    let stack = ServiceBuilder::new()
        .buffer(1)
        .service(Broken(Some(Error::service(error).into())));
    let error = Error::service(stack.oneshot(()).await.unwrap_err());
    assert!(error.find::<tower::buffer::error::ServiceError>().is_some());
    assert_says(&error, CONNECTION, UNTOUCHED, "in an Arc");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_tower_or_tokio_is_an_overload_in_doubt() {
    let address = answer("", End::Silence).await;
    let (client, url) = (hyper(), format!("http://{address}/"));
    let wait = Duration::from_secs(5);

    let stack = ServiceBuilder::new().timeout(wait).service(client.clone());
    let request = http::Request::get(&url).body(http_body_util::Empty::new());
    let error = stack.oneshot(request.unwrap()).await.unwrap_err();
    assert_says(&*error, TIMED_OUT, IN_DOUBT, "tower");

    let elapsed = tokio::time::timeout(wait, get_hyper(&client, &url)).await;
    let elapsed = elapsed.unwrap_err();
    assert_says(&elapsed, TIMED_OUT, IN_DOUBT, "tokio");
}

#[cfg(feature = "tower-http")]
#[tokio::test(start_paused = true)]
async fn a_body_that_tower_http_gives_up_on_is_a_timeout_in_doubt() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nfour";
    let address = answer(head, End::Silence).await;
    let response = hyper().get(format!("http://{address}/").parse().unwrap());
    let body = response.await.unwrap().into_body();
    let body = tower_http::timeout::TimeoutBody::new(Duration::from_secs(5), body);
    let error = std::pin::pin!(body).collect().await.unwrap_err();
    assert_says(&*error, TIMED_OUT, IN_DOUBT, "tower-http");
}

#[tokio::test]
async fn a_load_shed_of_ours_says_nothing_of_the_service() {
    let never = service_fn(|(): ()| std::future::pending::<Result<(), BoxError>>());
    let stack = ServiceBuilder::new()
        .load_shed()
        .concurrency_limit(1)
        .service(never);
    let mut parked = Box::pin(stack.clone().oneshot(()));
    let mut nobody = Context::from_waker(Waker::noop());
    assert!(parked.as_mut().poll(&mut nobody).is_pending());
    let error = stack.oneshot(()).await.unwrap_err();
    assert_says(&*error, Outcome::Ignored, UNTOUCHED, "shed");
}

#[tokio::test]
async fn an_io_error_says_it_without_a_client() {
    let error = TcpStream::connect(refused_port()).await.unwrap_err();
    assert_says(&error, CONNECTION, UNTOUCHED, "as it is");
    assert_says(&Error::service(error), CONNECTION, UNTOUCHED, "as ours");
}

#[tokio::test]
async fn an_error_is_seen_inside_of_an_io_error() {
    for (client, error) in get(&format!("http://{}/", refused_port())).await {
        let error = io::Error::other(Error::service(error));
        assert_says(&error, CONNECTION, untouched(client), client);
    }
}

#[test]
fn a_refusal_of_ours_is_ignored_however_it_is_wrapped() {
    let refused = || Error::from(Refused::new("gate", RefusedReason::Closed));
    assert_says(&refused(), Outcome::Ignored, UNTOUCHED, "as it is");
    let wrapped = Error::service(io::Error::new(io::ErrorKind::ConnectionReset, refused()));
    assert_says(&wrapped, Outcome::Ignored, UNTOUCHED, "in an io::Error");
}

#[test]
fn an_error_that_nobody_knows_is_a_failure_in_doubt() {
    assert_eq!(errors::outcome(&std::fmt::Error), Outcome::Failure);
    assert!(!errors::not_processed(&std::fmt::Error));
}
