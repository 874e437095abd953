use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tidegate_admission::{Acquire, Permit};
use tidegate_core::{BoxError, Error};
use tower_service::Service;

/// The answer of a [`Rate`](crate::Rate): waits for its tokens, then for the service below, then for
/// the response.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S: Service<Request>, Request> {
    acquire: Acquire,
    #[pin]
    state: State<S, Request>,
}

#[pin_project(project = StateProjection)]
enum State<S: Service<Request>, Request> {
    Waiting {
        service: S,
        request: Option<Request>,
    },
    Sent {
        #[pin]
        response: S::Future,
    },
}

impl<S: Service<Request>, Request> ResponseFuture<S, Request> {
    #[inline]
    pub(crate) fn new(acquire: Acquire, service: S, request: Request) -> Self {
        let state = State::Waiting {
            service,
            request: Some(request),
        };
        Self { acquire, state }
    }
}

impl<S, Request> Future for ResponseFuture<S, Request>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
{
    type Output = Result<S::Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StateProjection::Waiting { service, request } = this.state.as_mut().project() {
            // Dropped in here, `acquire` gives back what it took.
            ready!(this.acquire.poll_enter(context))?;
            if let Err(error) = ready!(service.poll_ready(context)) {
                // Now, since a future that is over may be kept.
                this.acquire.take().into_iter().for_each(Permit::give_back);
                return Poll::Ready(Err(Error::service(error)));
            }
            let request = request.take().expect("not polled after it was ready");
            // What it took is spent, and there is no place to hold.
            drop(this.acquire.take_place());
            let response = service.call(request);
            this.state.set(State::Sent { response });
        }
        let StateProjection::Sent { response } = this.state.project() else {
            unreachable!("it was sent a moment ago");
        };
        response.poll(context).map_err(Error::service)
    }
}

impl<S: Service<Request>, Request> fmt::Debug for ResponseFuture<S, Request> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Waiting { .. } => "waiting",
            State::Sent { .. } => "sent",
        };
        f.debug_struct("ResponseFuture")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
