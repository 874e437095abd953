use std::fmt;
use std::task::{Context, Poll};

use tidegate_admission::Door;
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::{Cost, One, RateHandle, ResponseFuture};

/// A service that is called at a rate. See [`RateLayer`](crate::RateLayer).
#[derive(Clone)]
pub struct Rate<S, C = One> {
    inner: S,
    door: Door,
    cost: C,
}

impl<S, C> Rate<S, C> {
    pub(crate) fn new(inner: S, door: Door, cost: C) -> Self {
        Self { inner, door, cost }
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

impl<S, C, Request> Service<Request> for Rate<S, C>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    C: Cost<Request>,
{
    type Response = S::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request>;

    /// Always ready: the future waits, not the service.
    #[inline]
    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        // The clone has not been polled: its readiness is polled in the future, once it may go.
        // Readiness of `self.inner` is never asked for.
        let acquire = self.door.acquire(self.cost.cost(&request));
        ResponseFuture::new(acquire, self.inner.clone(), request)
    }
}

impl<S: fmt::Debug, C> fmt::Debug for Rate<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rate")
            .field("inner", &self.inner)
            .field("door", &self.door)
            .finish_non_exhaustive()
    }
}
