use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate_classify::{RequestHead, ResponseHead};
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::{ResponseFuture, span};

/// A service with a span for each request. See [`SpanLayer`](crate::SpanLayer).
#[derive(Clone, Debug)]
pub struct Spanned<S> {
    inner: S,
    stack: Option<Arc<str>>,
}

impl<S> Spanned<S> {
    pub(crate) fn new(inner: S, stack: Option<Arc<str>>) -> Self {
        Self { inner, stack }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, Request> Service<Request> for Spanned<S>
where
    S: Service<Request>,
    S::Response: ResponseHead,
    S::Error: Into<BoxError>,
    Request: RequestHead,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context).map_err(Error::service)
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        let span = span::of(&request, self.stack.as_deref());
        let entered = span.enter();
        let response = self.inner.call(request);
        drop(entered);
        ResponseFuture::new(response, span)
    }
}
