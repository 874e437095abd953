use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tidegate_classify::{Classify, ResponseHead as _};
use tidegate_core::{BoxError, Error, Refused, unsent};
use tokio::time::Instant;
use tower_service::Service;

use crate::call::Call;
use crate::clock::now;
use crate::drain::Drain;
use crate::last_answer::LastAnswer;
use crate::progress::Shared;
use crate::retry_response::sealed::Response as _;
use crate::settings::refusal;
use crate::timer::Timer;
use crate::{BudgetFor, RetryRequest, RetryResponse, retry_response};

type BodyOf<R> = <R as retry_response::sealed::Response>::Body;

/// The answer of a [`Retry`](crate::Retry): makes attempts and waits between them.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<S, Request, C, B>
where
    S: Service<Request>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    #[pin]
    state: State<S, Request, BodyOf<S::Response>>,
    #[pin]
    timer: Timer,
    service: S,
    shared: Arc<Shared<C, B>>,
    call: Call<Request>,
    classified: Option<C::Call>,
}

#[pin_project(project = StateProjection)]
enum State<S: Service<Request>, Request, Body> {
    Begin,
    Readying {
        service: S,
        request: Option<Request>,
    },
    Sent {
        #[pin]
        response: S::Future,
    },
    Draining {
        #[pin]
        drain: Drain<Body>,
        until: Instant,
    },
    Waiting,
    Over,
}

impl<S, Request, C, B> ResponseFuture<S, Request, C, B>
where
    S: Service<Request>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    #[inline]
    pub(crate) fn new(service: S, request: Request, shared: Arc<Shared<C, B>>) -> Self {
        Self {
            state: State::Begin,
            timer: Timer::default(),
            service,
            shared,
            call: Call::new(request),
            classified: None,
        }
    }
}

impl<S, Request, C, B> ResponseFuture<S, Request, C, B>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    /// A future that is over may be kept: nothing of an attempt stays in it.
    fn over(
        self: Pin<&mut Self>,
        answer: Result<S::Response, Error>,
    ) -> Poll<Result<S::Response, Error>> {
        self.project().state.set(State::Over);
        Poll::Ready(answer)
    }

    fn begin(self: Pin<&mut Self>) -> Result<(), Error> {
        let mut this = self.project();
        let request = this.call.begin(this.shared, now())?;
        *this.classified = Some(this.shared.settings.classifier.request(&request));
        this.state.set(State::Readying {
            service: this.service.clone(),
            request: Some(request),
        });
        Ok(())
    }

    /// What the attempt that is under way came to. Its error may be the end: then it is the outer one.
    fn poll_attempt(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Result<S::Response, Error>, Error>> {
        let mut this = self.project();
        let attempt = this.call.attempt();
        if let StateProjection::Readying { service, request } = this.state.as_mut().project()
            && let Poll::Ready(ready) = attempt.scope(|| service.poll_ready(cx))
        {
            if let Err(error) = ready {
                return Poll::Ready(Ok(Err(Error::service(error))));
            }
            let request = request.take().expect("it is sent once");
            let response = attempt.scope(|| service.call(request));
            this.state.set(State::Sent { response });
        }
        if let StateProjection::Sent { response } = this.state.as_mut().project() {
            let (response, waits) = unsent::watch(|| attempt.scope(|| response.poll(cx)));
            if !waits || response.is_ready() {
                this.call.mark_sent();
            }
            if let Poll::Ready(response) = response {
                return Poll::Ready(Ok(response.map_err(Error::service)));
            }
        }
        let Some(ends) = this.call.ends() else {
            return Poll::Pending;
        };
        ready!(this.timer.poll_until(ends, cx));
        let (error, is_end) = this.call.timed_out(this.shared, now());
        Poll::Ready(if is_end { Err(error) } else { Ok(Err(error)) })
    }

    /// The answer, unless another attempt follows it.
    fn answered(
        mut self: Pin<&mut Self>,
        answer: Result<S::Response, Error>,
    ) -> ControlFlow<Result<S::Response, Error>> {
        let mut this = self.as_mut().project();
        // Whatever comes, the attempt is over: its permit is free before any wait.
        this.state.set(State::Over);
        let mut classified = this.classified.take().expect("it was sent");
        if this.call.is_nested() {
            return ControlFlow::Break(answer);
        }
        let settings = &this.shared.settings;
        let answer = match answer {
            Err(error) => match refusal(&error) {
                Some(refused) => return self.refused(refused, error),
                None => Err(error),
            },
            answer => answer,
        };
        let failure = match &answer {
            Ok(response) => settings.failed_response(&mut classified, response),
            Err(error) => settings.failed_error(&mut classified, error),
        };
        let Some(failure) = failure else {
            return ControlFlow::Break(answer);
        };
        let now = now();
        this.call.last = LastAnswer::default();
        let gave_up = this.call.failed(this.shared, &failure, now).err();
        match (answer, gave_up) {
            (Ok(mut response), gave_up) => {
                this.call.last.status = Some(response.status());
                if let Some(reason) = gave_up {
                    let gave_up = this.call.gave_up(this.shared, reason, now);
                    response.extensions_mut().insert(gave_up);
                    return ControlFlow::Break(Ok(response));
                }
                let until = this.call.drain_until(this.shared, now);
                let drain = Drain::new(response.into_body());
                let draining = drain.map(|drain| State::Draining { drain, until });
                this.state.set(draining.unwrap_or(State::Waiting));
            }
            (Err(error), gave_up) => {
                this.call.last.error = Some(error);
                if let Some(reason) = gave_up {
                    let gave_up = this.call.gave_up(this.shared, reason, now);
                    return ControlFlow::Break(Err(Error::service(gave_up)));
                }
                this.state.set(State::Waiting);
            }
        }
        ControlFlow::Continue(())
    }

    /// The same after a refusal: nothing was sent of this attempt.
    fn refused(
        self: Pin<&mut Self>,
        refused: Refused,
        error: Error,
    ) -> ControlFlow<Result<S::Response, Error>> {
        let mut this = self.project();
        if let Some(error) = this.call.refused(this.shared, refused, error, now()) {
            return ControlFlow::Break(Err(error));
        }
        this.state.set(State::Waiting);
        ControlFlow::Continue(())
    }

    /// Reads what is left of a failure; whether it says that another attempt is no use.
    fn poll_drain(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut this = self.project();
        let StateProjection::Draining { mut drain, until } = this.state.as_mut().project() else {
            unreachable!("it is being drained");
        };
        if drain.as_mut().poll_end(cx).is_pending() {
            ready!(this.timer.poll_until(*until, cx));
        }
        let last = &mut this.call.last;
        last.body = drain.take();
        this.state.set(State::Waiting);
        if !this.shared.settings.is_exhausted(last.status, &last.body) {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(Error::service(this.call.exhausted(this.shared, now()))))
    }

    fn poll_answer(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<S::Response, Error>> {
        loop {
            match &self.state {
                State::Begin => {
                    if let Err(error) = self.as_mut().begin() {
                        return self.over(Err(error));
                    }
                }
                State::Readying { .. } | State::Sent { .. } => {
                    match ready!(self.as_mut().poll_attempt(cx)) {
                        Err(error) => return self.over(Err(error)),
                        Ok(answer) => {
                            if let ControlFlow::Break(answer) = self.as_mut().answered(answer) {
                                return Poll::Ready(answer);
                            }
                        }
                    }
                }
                State::Draining { .. } => {
                    if let Err(error) = ready!(self.as_mut().poll_drain(cx)) {
                        return self.over(Err(error));
                    }
                }
                State::Waiting => {
                    let mut this = self.as_mut().project();
                    ready!(this.timer.poll_until(this.call.wake(), cx));
                    this.state.set(State::Begin);
                }
                State::Over => panic!("polled after it was ready"),
            }
        }
    }
}

impl<S, Request, C, B> Future for ResponseFuture<S, Request, C, B>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    type Output = Result<S::Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.as_mut().poll_answer(cx) {
            // For a retry above this one.
            Poll::Pending if !self.call.has_sent() => unsent::pending(),
            polled => polled,
        }
    }
}

impl<S, Request, C, B> fmt::Debug for ResponseFuture<S, Request, C, B>
where
    S: Service<Request>,
    S::Response: RetryResponse,
    Request: RetryRequest,
    C: Classify<Request, S::Response>,
    B: BudgetFor<Request>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Begin => "about to send",
            State::Readying { .. } => "waiting for the service",
            State::Sent { .. } => "sent",
            State::Draining { .. } => "reading the rest of a failure",
            State::Waiting => "backing off",
            State::Over => "over",
        };
        f.debug_struct("ResponseFuture")
            .field("state", &state)
            .field("attempt", &self.call.attempt().number)
            .finish_non_exhaustive()
    }
}
