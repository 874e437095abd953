use std::fmt;
use std::task::{Context, Poll};

use tidegate_admission::Door;
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::{Quota, Quotas, RateHandle, ResponseFuture, Settles};

/// A service that is called at a rate. See [`RateLayer`](crate::RateLayer).
#[derive(Clone)]
pub struct Rate<S, Q = Quota> {
    inner: S,
    door: Door,
    quotas: Q,
}

impl<S, Q> Rate<S, Q> {
    pub(crate) fn new(inner: S, door: Door, quotas: Q) -> Self {
        Self {
            inner,
            door,
            quotas,
        }
    }

    /// Watches and moves this rate while it runs.
    pub fn handle(&self) -> RateHandle {
        RateHandle::new(self.door.clone())
    }

    /// The service behind it.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, Q, Request> Service<Request> for Rate<S, Q>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    Q: Quotas<Request> + Settles<S::Response>,
{
    type Response = Q::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request, Q>;

    /// Always ready: the future waits, not the service.
    #[inline]
    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        // The clone has not been polled: its readiness is polled in the future, once it may go.
        // Readiness of `self.inner` is never asked for.
        let acquire = self.quotas.acquire(&self.door, &request);
        ResponseFuture::new(acquire, self.quotas.clone(), self.inner.clone(), request)
    }
}

impl<S: fmt::Debug, Q> fmt::Debug for Rate<S, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rate")
            .field("inner", &self.inner)
            .field("door", &self.door)
            .finish_non_exhaustive()
    }
}
