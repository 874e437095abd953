use std::task::{Context, Poll};

use tidegate_admission::Door;
use tidegate_core::{BoxError, Error};
use tower_service::Service;

use crate::{Attend, Call, GateHandle, HoldBody, ResponseFuture};

/// A service behind a gate. See [`GateLayer`](crate::GateLayer).
#[derive(Clone, Debug)]
pub struct Gate<S, A = HoldBody> {
    inner: S,
    door: Door,
    attend: A,
}

impl<S, A> Gate<S, A> {
    /// A service behind this door, with what goes along with each request: what
    /// [`GateLayer`](crate::GateLayer) makes, for layers that are more than a gate.
    pub fn new(inner: S, door: Door, attend: A) -> Self {
        Self {
            inner,
            door,
            attend,
        }
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

impl<S, A, Request> Service<Request> for Gate<S, A>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    A: Attend<Request, S::Response>,
{
    type Response = <A::Call as Call<S::Response>>::Response;
    type Error = Error;
    type Future = ResponseFuture<S, Request, A::Call>;

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
        let call = self.attend.call(&request);
        ResponseFuture::new(acquire, self.inner.clone(), request, call)
    }
}
