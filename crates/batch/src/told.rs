use std::time::Duration;

use tidegate_core::{BoxError, Error, Refused};
use tower::ServiceExt;
use tower_service::Service;

use crate::clock::now;
use crate::finish::{Finish, IntoFinish};

/// What a try came to.
#[derive(Debug)]
pub(crate) struct Told<T> {
    pub(crate) finish: Finish<T>,
    /// What the stack said, if it did not send it. The closure's own error need not tell: what anyhow
    /// has wrapped is not to be found any more.
    pub(crate) refused: Option<Refused>,
    pub(crate) latency: Duration,
}

impl<T> Told<T> {
    pub(crate) fn failed(finish: Finish<T>) -> Self {
        Self {
            finish,
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
    F: IntoFinish,
{
    let started = now();
    let answer = stack.oneshot(request).await.map_err(Error::service);
    let refused = answer.as_ref().err().and_then(Error::refused).cloned();
    let finish = each(answer).await.into_finish();
    Told {
        finish,
        refused,
        latency: now() - started,
    }
}
