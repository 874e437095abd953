use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;
use tidegate_admission::{Acquire, Tab};
use tidegate_core::{BoxError, Error, unsent};
use tower_service::Service;

use crate::quotas::Keep;
use crate::{Quotas, Settles};

/// The answer of a [`Rate`](crate::Rate): waits for its tokens, then for the service below, then for
/// the response.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S: Service<Request>, Request, Q: Quotas<Request>> {
    acquire: Acquire<Q::Tab>,
    quotas: Q,
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

impl<S: Service<Request>, Request, Q: Quotas<Request>> ResponseFuture<S, Request, Q> {
    #[inline]
    pub(crate) fn new(acquire: Acquire<Q::Tab>, quotas: Q, service: S, request: Request) -> Self {
        let state = State::Waiting {
            service,
            request: Some(request),
        };
        Self {
            acquire,
            quotas,
            state,
        }
    }
}

impl<S, Request, Q> Future for ResponseFuture<S, Request, Q>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
    Q: Quotas<Request> + Settles<S::Response>,
{
    type Output = Result<Q::Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StateProjection::Waiting { service, request } = this.state.as_mut().project() {
            // Dropped in here, `acquire` gives back what it took.
            let Poll::Ready(entered) = this.acquire.poll_enter(context) else {
                return unsent::pending();
            };
            entered?;
            let Poll::Ready(ready) = service.poll_ready(context) else {
                return unsent::pending();
            };
            if let Err(error) = ready {
                // Now, since a future that is over may be kept.
                this.acquire.give_back();
                return Poll::Ready(Err(Error::service(error)));
            }
            let request = request.take().expect("not polled after it was ready");
            this.acquire.set_sent(true);
            let response = service.call(request);
            this.state.set(State::Sent { response });
        }
        let StateProjection::Sent { response } = this.state.project() else {
            unreachable!("it was sent a moment ago");
        };
        unsent::hush();
        // Matched where it lies: a response is large, and each `let` on its way may copy it.
        match response.poll(context) {
            Poll::Ready(Ok(response)) => {
                let kept = Q::sent(this.acquire);
                Poll::Ready(Ok(this.quotas.settle(response, kept.kept())))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(fail(this.acquire, error.into()))),
            Poll::Pending => {
                // Dropped while it waits below, `acquire` gives back what it took.
                this.acquire.set_sent(!unsent::said());
                Poll::Pending
            }
        }
    }
}

#[cold]
fn fail<T: Tab>(acquire: &mut Acquire<T>, error: BoxError) -> Error {
    match Error::service(error).into_service() {
        Ok(answer) => {
            drop(acquire.take_door());
            Error::service(answer)
        }
        // A layer below said no: nothing was sent, and the tokens are not spent.
        Err(refusal) => {
            acquire.give_back();
            refusal
        }
    }
}

impl<S: Service<Request>, Request, Q: Quotas<Request>> fmt::Debug
    for ResponseFuture<S, Request, Q>
{
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
