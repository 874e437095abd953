use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::response::Parts;
use pin_project::pin_project;
use tidegate_classify::Peeked;
use tokio::time::{Sleep, sleep};

use crate::layer::Rules;
use crate::{Peekable, PeekedBody};

/// The answer of a [`Peek`](crate::Peek).
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<F, R: Peekable> {
    rules: Arc<Rules>,
    #[pin]
    state: State<F, R>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each response that is peeked at"
)]
#[pin_project(project = StateProjection)]
enum State<F, R: Peekable> {
    Head(#[pin] F),
    Body {
        parts: Option<Parts>,
        body: Option<PeekedBody<R::Body>>,
        #[pin]
        late: Sleep,
    },
}

impl<F, R: Peekable> ResponseFuture<F, R> {
    pub(crate) fn new(response: F, rules: Arc<Rules>) -> Self {
        let state = State::Head(response);
        Self { rules, state }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<R, E>>,
    R: Peekable,
{
    type Output = Result<R::Output, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let StateProjection::Head(response) = this.state.as_mut().project() {
            let (parts, body) = ready!(response.poll(context))?.take_apart();
            let body = PeekedBody::new(body);
            if !this.rules.concern(&parts) {
                return Poll::Ready(Ok(R::put_together(parts, body)));
            }
            this.state.set(State::Body {
                parts: Some(parts),
                body: Some(body),
                late: sleep(this.rules.within),
            });
        }
        let StateProjection::Body { parts, body, late } = this.state.project() else {
            unreachable!("the head is there");
        };
        let most = this.rules.most;
        let read = body
            .as_mut()
            .map(|body| Pin::new(body).poll_read(most, context));
        if read == Some(Poll::Pending) {
            ready!(late.poll(context));
        }
        let (mut parts, body) = parts
            .take()
            .zip(body.take())
            .expect("not polled after it was ready");
        parts.extensions.insert(Peeked(body.first(most)));
        Poll::Ready(Ok(R::put_together(parts, body)))
    }
}

impl<F, R: Peekable> fmt::Debug for ResponseFuture<F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
