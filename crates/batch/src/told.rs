use std::time::Duration;

use tidegate_core::{BoxError, Error, Refused};
use tower::ServiceExt;
use tower_service::Service;

use crate::clock::now;
use crate::failed::{Failed, Finish};

/// What a try came to.
#[derive(Debug)]
pub(crate) struct Told<T> {
    pub(crate) result: Result<T, Failed>,
    /// What the stack said, if it did not send it. The closure's own error need not tell: what anyhow
    /// has wrapped is not to be found any more.
    pub(crate) refused: Option<Refused>,
    pub(crate) latency: Duration,
}

impl<T> Told<T> {
    pub(crate) fn new(result: Result<T, Failed>) -> Self {
        Self {
            result,
            refused: None,
            latency: Duration::ZERO,
        }
    }
}

/// Sends, and has the closure see to the answer.
pub(crate) async fn attempt<S, R, F, A>(
    stack: S,
    request: R,
    each: impl FnOnce(Result<S::Response, Error>) -> A,
) -> Told<F::Value>
where
    S: Service<R>,
    S::Error: Into<BoxError>,
    A: Future<Output = F>,
    F: Finish,
{
    let started = now();
    let answer = stack.oneshot(request).await.map_err(Error::service);
    let refused = answer.as_ref().err().and_then(Error::refused).cloned();
    let result = each(answer).await.finish();
    Told {
        result,
        refused,
        latency: now() - started,
    }
}
