use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project::{pin_project, pinned_drop};
use tidegate_classify::ResponseHead;
use tidegate_core::{BoxError, Error, unsent};
use tracing::Span;

use crate::wait::Wait;
use crate::{retried, span};

/// The answer of a [`Spanned`](crate::Spanned).
#[pin_project(PinnedDrop)]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<F> {
    #[pin]
    response: F,
    /// Disabled where nobody listens, and once it is over.
    span: Span,
    wait: Wait,
    resends: u32,
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(crate) fn new(response: F, span: Span) -> Self {
        Self {
            response,
            span,
            wait: Wait::default(),
            resends: 0,
        }
    }
}

impl<F, Response, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response, E>>,
    Response: ResponseHead,
    E: Into<BoxError>,
{
    type Output = Result<Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if this.span.is_disabled() {
            return this.response.poll(context).map_err(Error::service);
        }
        let entered = this.span.enter();
        let began = this.wait.before();
        let poll = || this.response.poll(context);
        let ((polled, waits), retried) = retried::watch(|| unsent::watch_all(poll));
        this.wait.after(began, waits && polled.is_pending());
        *this.resends = retried.resends.max(*this.resends);
        let answer = ready!(polled).map_err(Error::service);
        drop(entered);
        let span = std::mem::replace(this.span, Span::none());
        // What was decided on need not have been sent.
        let sent = answer.as_ref().err().and_then(span::resent);
        span::over(&span, this.wait.end(), sent.unwrap_or(*this.resends));
        match &answer {
            Ok(response) => span::answered(&span, response.status(), retried.gave_up),
            Err(error) => span::ended(&span, error),
        }
        Poll::Ready(answer)
    }
}

#[pinned_drop]
impl<F> PinnedDrop for ResponseFuture<F> {
    fn drop(self: Pin<&mut Self>) {
        if !self.span.is_disabled() {
            span::over(&self.span, self.wait.end(), self.resends);
            span::cancelled(&self.span);
        }
    }
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("span", &self.span)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}
