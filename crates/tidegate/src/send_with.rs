use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;
use reqwest::{Request, RequestBuilder, Response};
use tidegate_core::{BoxError, Error};
use tower::ServiceExt;
use tower::util::Oneshot;
use tower_service::Service;

/// [`send_with`](Self::send_with), for reqwest's builder of requests.
pub trait RequestBuilderExt {
    /// Sends the request through a stack rather than through its client alone, as `send` would.
    ///
    /// The stack's own client sends it: what the builder's client would add to each request (default
    /// headers, its timeout) comes from the stack's.
    ///
    /// ```no_run
    /// use tidegate::{GateLayer, RequestBuilderExt};
    /// use tower::ServiceBuilder;
    ///
    /// # async fn example() -> Result<(), tidegate::Error> {
    /// let client = reqwest::Client::new();
    /// let stack = ServiceBuilder::new().layer(GateLayer::new(10)).service(client.clone());
    /// let page = client.get("https://example.com/").send_with(&stack).await?.text().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the request could not be built, and whatever the stack answers.
    fn send_with<S>(self, stack: &S) -> SendWith<S>
    where
        S: Service<Request, Response = Response> + Clone,
        S::Error: Into<BoxError>;
}

impl RequestBuilderExt for RequestBuilder {
    fn send_with<S>(self, stack: &S) -> SendWith<S>
    where
        S: Service<Request, Response = Response> + Clone,
        S::Error: Into<BoxError>,
    {
        SendWith(match self.build() {
            Ok(request) => State::Sent(stack.clone().oneshot(request)),
            Err(error) => State::Invalid(Some(error)),
        })
    }
}

/// The answer of a request that was [sent with](RequestBuilderExt::send_with) a stack.
#[pin_project]
#[must_use = "nothing is sent before it is polled"]
pub struct SendWith<S: Service<Request>>(#[pin] State<S>);

#[pin_project(project = StateProjection)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box for each request would cost more than a large future of an invalid one"
)]
enum State<S: Service<Request>> {
    Invalid(Option<reqwest::Error>),
    Sent(#[pin] Oneshot<S, Request>),
}

impl<S> Future for SendWith<S>
where
    S: Service<Request, Response = Response>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().0.project() {
            StateProjection::Invalid(error) => {
                let error = error.take().expect("not polled after it was ready");
                Poll::Ready(Err(Error::service(error)))
            }
            StateProjection::Sent(response) => response.poll(context).map_err(Error::service),
        }
    }
}

impl<S: Service<Request>> fmt::Debug for SendWith<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendWith").finish_non_exhaustive()
    }
}
