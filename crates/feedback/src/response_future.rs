use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tidegate_classify::Classify;
use tidegate_core::{BoxError, Controller, Error};
use tower_service::Service;

use crate::{Call, Watch};

/// The answer of a [`Feedback`](crate::Feedback). Dropped before there is one, its caller gave up.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S, Req, C, L, W>
where
    S: Service<Req>,
    C: Classify<Req, S::Response>,
    L: Controller,
{
    #[pin]
    response: S::Future,
    call: Option<Call<Req, S::Response, C, L>>,
    watch: W,
}

impl<S, Req, C, L, W> ResponseFuture<S, Req, C, L, W>
where
    S: Service<Req>,
    C: Classify<Req, S::Response>,
    L: Controller,
{
    #[inline]
    pub(crate) fn new(response: S::Future, call: Call<Req, S::Response, C, L>, watch: W) -> Self {
        Self {
            response,
            call: Some(call),
            watch,
        }
    }
}

impl<S, Req, C, L, W> Future for ResponseFuture<S, Req, C, L, W>
where
    S: Service<Req>,
    S::Error: Into<BoxError>,
    C: Classify<Req, S::Response>,
    L: Controller,
    W: Watch<S::Response, Call<Req, S::Response, C, L>>,
{
    type Output = Result<W::Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.call.iter_mut().for_each(Call::send);
        let response = ready!(this.response.poll(context));
        let mut call = this.call.take().expect("not polled after it was ready");
        match response {
            Ok(response) => {
                call.respond(&response);
                Poll::Ready(Ok(this.watch.watch(response, call, ())))
            }
            Err(error) => {
                let error = error.into();
                call.fail(&*error);
                Poll::Ready(Err(Error::service(error)))
            }
        }
    }
}

impl<S, Req, C, L, W> fmt::Debug for ResponseFuture<S, Req, C, L, W>
where
    S: Service<Req>,
    C: Classify<Req, S::Response>,
    L: Controller,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
