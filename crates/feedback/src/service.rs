use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate_classify::Classify;
use tidegate_core::{BoxError, Controller, Error};
use tidegate_gate::HoldBody;
use tower_service::Service;

use crate::call::Shared;
use crate::{Call, FeedbackHandle, ResponseFuture, Watch};

/// A service whose answers a law learns from. See [`FeedbackLayer`](crate::FeedbackLayer).
pub struct Feedback<S, C, L, W = HoldBody> {
    inner: S,
    shared: Arc<Shared<C, L>>,
    watch: W,
}

impl<S, C, L, W> Feedback<S, C, L, W> {
    pub(crate) fn new(inner: S, shared: Arc<Shared<C, L>>, watch: W) -> Self {
        Self {
            inner,
            shared,
            watch,
        }
    }

    /// Watches and moves the law and its door while they run.
    pub fn handle(&self) -> FeedbackHandle<L> {
        FeedbackHandle::new(Arc::clone(&self.shared.control))
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, C, L, W, Request> Service<Request> for Feedback<S, C, L, W>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
    C: Classify<Request, S::Response>,
    L: Controller,
    W: Watch<S::Response, Call<Request, S::Response, C, L>>,
{
    type Response = W::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request, C, L, W>;

    /// As ready as the service below: this layer never waits.
    #[inline]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context).map_err(Error::service)
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        let call = Call::new(Arc::clone(&self.shared), &request);
        ResponseFuture::new(self.inner.call(request), call, self.watch.clone())
    }
}

impl<S: Clone, C, L, W: Clone> Clone for Feedback<S, C, L, W> {
    fn clone(&self) -> Self {
        Self::new(
            self.inner.clone(),
            Arc::clone(&self.shared),
            self.watch.clone(),
        )
    }
}

impl<S: fmt::Debug, C, L: fmt::Debug, W> fmt::Debug for Feedback<S, C, L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feedback")
            .field("inner", &self.inner)
            .field("control", &self.shared.control)
            .finish_non_exhaustive()
    }
}
