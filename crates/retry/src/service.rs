use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate_classify::{Classify, HttpClassifier};
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::progress::Shared;
use crate::{Budget, BudgetFor, ResponseFuture, RetryRequest, RetryResponse};

/// A service that is tried again. See [`RetryLayer`](crate::RetryLayer).
pub struct Retry<S, C = HttpClassifier, B = Budget> {
    inner: S,
    shared: Arc<Shared<C, B>>,
}

impl<S, C, B> Retry<S, C, B> {
    pub(crate) fn new(inner: S, shared: Arc<Shared<C, B>>) -> Self {
        Self { inner, shared }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, C, B, Request> Service<Request> for Retry<S, C, B>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request, C, B>;

    /// Always ready: the future waits, not the service.
    #[inline]
    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        // Each attempt gets a clone of this clone, which has never been polled.
        ResponseFuture::new(self.inner.clone(), request, Arc::clone(&self.shared))
    }
}

impl<S: Clone, C, B> Clone for Retry<S, C, B> {
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), Arc::clone(&self.shared))
    }
}

impl<S: fmt::Debug, C: fmt::Debug, B: fmt::Debug> fmt::Debug for Retry<S, C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.inner)
            .field("shared", &self.shared)
            .finish()
    }
}
