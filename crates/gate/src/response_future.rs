use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;
use tidegate_admission::{Acquire, Permit};
use tidegate_core::{BoxError, Error, unsent};
use tower_service::Service;

use crate::Call;

/// The answer of a [`Gate`](crate::Gate): waits for its permit, then for the service below, then
/// for the response.
///
/// The permit does not stay in a future that is over.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S: Service<Request>, Request, C> {
    // Above `call`, and that above `acquire`: a request has left the service, and said so, before its
    // place is free.
    #[pin]
    state: State<S, Request>,
    call: Option<C>,
    acquire: Acquire,
}

const POLLED_AGAIN: &str = "not polled after it was ready";

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

impl<S: Service<Request>, Request, C> ResponseFuture<S, Request, C> {
    #[inline]
    pub(crate) fn new(acquire: Acquire, service: S, request: Request, call: C) -> Self {
        let state = State::Waiting {
            service,
            request: Some(request),
        };
        Self {
            state,
            call: Some(call),
            acquire,
        }
    }
}

impl<S, Request, C> Future for ResponseFuture<S, Request, C>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
    C: Call<S::Response>,
{
    type Output = Result<C::Response, Error>;

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
                this.acquire.take().into_iter().for_each(Permit::give_back);
                return Poll::Ready(Err(Error::service(error)));
            }
            let request = request.take().expect(POLLED_AGAIN);
            this.acquire.set_sent(true);
            this.call.iter_mut().for_each(Call::send);
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
                let call = this.call.take().expect(POLLED_AGAIN);
                let place = this.acquire.take_place().expect(POLLED_AGAIN);
                Poll::Ready(Ok(call.respond(response, place)))
            }
            Poll::Ready(Err(error)) => {
                let call = this.call.take().expect(POLLED_AGAIN);
                Poll::Ready(Err(fail(call, this.acquire, error.into())))
            }
            Poll::Pending => {
                // Dropped while it waits below, `acquire` gives back what it took.
                this.acquire.set_sent(!unsent::said());
                Poll::Pending
            }
        }
    }
}

#[cold]
fn fail<Response>(call: impl Call<Response>, acquire: &mut Acquire, error: BoxError) -> Error {
    call.fail(&*error);
    let permit = acquire.take();
    match Error::service(error).into_service() {
        Ok(answer) => Error::service(answer),
        // A layer below said no: nothing was sent, and the tokens are not spent.
        Err(refusal) => {
            permit.into_iter().for_each(Permit::give_back);
            refusal
        }
    }
}

impl<S: Service<Request>, Request, C> fmt::Debug for ResponseFuture<S, Request, C> {
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
