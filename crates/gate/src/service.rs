use std::task::{Context, Poll};

use tidegate_admission::Door;
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::{GateHandle, Hold, HoldBody, ResponseFuture};

/// A service behind a gate. See [`GateLayer`](crate::GateLayer).
#[derive(Clone, Debug)]
pub struct Gate<S, H = HoldBody> {
    inner: S,
    door: Door,
    hold: H,
}

impl<S, H> Gate<S, H> {
    pub(crate) fn new(inner: S, door: Door, hold: H) -> Self {
        Self { inner, door, hold }
    }

    /// Watches and moves this gate while it runs.
    pub fn handle(&self) -> GateHandle {
        GateHandle::new(self.door.clone())
    }

    /// The service behind the gate.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, H, Request> Service<Request> for Gate<S, H>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    H: Hold<S::Response>,
{
    type Response = H::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request, H>;

    /// Always ready: the future waits, not the service.
    #[inline]
    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        // The clone has not been polled: its readiness is polled in the future, once it has its
        // permit. Readiness of `self.inner` is never asked for.
        let acquire = self.door.acquire(1);
        ResponseFuture::new(acquire, self.inner.clone(), request, self.hold.clone())
    }
}
