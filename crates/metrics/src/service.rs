use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate_classify::{RequestHead, ResponseHead};
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::ResponseFuture;
use crate::stack::Stack;

/// A service whose requests are measured. See [`MeasureLayer`](crate::MeasureLayer).
#[derive(Clone, Debug)]
pub struct Measure<S> {
    inner: S,
    stack: Arc<Stack>,
}

impl<S> Measure<S> {
    pub(crate) fn new(inner: S, stack: Arc<Stack>) -> Self {
        Self { inner, stack }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, Request> Service<Request> for Measure<S>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
    S::Response: ResponseHead,
    Request: RequestHead,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S::Future>;

    /// As ready as the service below: this layer never waits.
    #[inline]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context).map_err(Error::service)
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        let durations = Arc::clone(self.stack.hosts().durations(&request));
        ResponseFuture::new(self.inner.call(request), durations)
    }
}
