use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tidegate_core::{BoxError, Error, unsent};
use tower_service::Service;

use crate::below::of_key;
use crate::entry::Entry;

/// The answer of a [`Keyed`](crate::Keyed): waits for the stack of its key to be ready, then for the
/// response.
///
/// While it lives, its key is kept.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S: Service<Request>, Request, L> {
    // Above `entry`: what it holds of the key is given back before that may go.
    #[pin]
    state: State<S, Request>,
    entry: Arc<Entry<L>>,
}

#[pin_project(project = StateProjection)]
enum State<S: Service<Request>, Request> {
    Waiting {
        service: S,
        request: Option<Request>,
    },
    Called {
        #[pin]
        response: S::Future,
    },
}

impl<S: Service<Request>, Request, L> ResponseFuture<S, Request, L> {
    #[inline]
    pub(crate) fn new(service: S, request: Request, entry: Arc<Entry<L>>) -> Self {
        let state = State::Waiting {
            service,
            request: Some(request),
        };
        Self { state, entry }
    }
}

impl<S, Request, L> Future for ResponseFuture<S, Request, L>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
{
    type Output = Result<S::Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StateProjection::Waiting { service, request } = this.state.as_mut().project() {
            let Poll::Ready(ready) = service.poll_ready(context) else {
                return unsent::pending();
            };
            if let Err(error) = ready {
                return Poll::Ready(Err(of_key(error, this.entry.key.as_str())));
            }
            let request = request.take().expect("not polled after it was ready");
            let response = service.call(request);
            this.state.set(State::Called { response });
        }
        let StateProjection::Called { response } = this.state.project() else {
            unreachable!("it was called a moment ago");
        };
        let response = ready!(response.poll(context));
        Poll::Ready(response.map_err(|error| of_key(error, this.entry.key.as_str())))
    }
}

impl<S: Service<Request>, Request, L> fmt::Debug for ResponseFuture<S, Request, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("key", &self.entry.key)
            .finish_non_exhaustive()
    }
}
