use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tidegate_core::{BoxError, Error};
use tower_service::Service;

/// The service below the layers that are kept for each key.
///
/// It marks the refusals that come from there, so that they are not taken for those of a key.
#[derive(Clone, Debug)]
pub struct Below<S>(pub(crate) S);

/// No text that a key of ours has: a refusal so marked belongs to none.
const MARK: &str = "\0below";

impl<S, Request> Service<Request> for Below<S>
where
    S: Service<Request>,
    S::Error: Into<BoxError>,
{
    type Response = S::Response;
    type Error = Error;
    type Future = BelowFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(context).map_err(mark)
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        BelowFuture(self.0.call(request))
    }
}

/// The answer of the service [below](Below).
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct BelowFuture<F>(#[pin] F);

impl<F, Response, E> Future for BelowFuture<F>
where
    F: Future<Output = Result<Response, E>>,
    E: Into<BoxError>,
{
    type Output = Result<Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(self.project().0.poll(context)).map_err(mark))
    }
}

impl<F> fmt::Debug for BelowFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BelowFuture").finish_non_exhaustive()
    }
}

#[cold]
fn mark(error: impl Into<BoxError>) -> Error {
    refusals(error, |key| key.or_else(|| Some(Arc::from(MARK))))
}

/// An error that has come through the layers of this key.
#[cold]
pub(crate) fn of_key(error: impl Into<BoxError>, key: &str) -> Error {
    refusals(error, |known| match known {
        None => Some(Arc::from(key)),
        Some(mark) if &*mark == MARK => None,
        known => known,
    })
}

/// The error, with another key if it is a refusal.
fn refusals(
    error: impl Into<BoxError>,
    key: impl FnOnce(Option<Arc<str>>) -> Option<Arc<str>>,
) -> Error {
    let refusal = match Error::service(error).into_service() {
        Ok(answer) => return Error::service(answer),
        Err(refusal) => refusal,
    };
    let Some(refused) = refusal.refused() else {
        return refusal;
    };
    let mut refused = refused.clone();
    refused.key = key(refused.key);
    refused.into()
}
