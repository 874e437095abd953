use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use crate::layer::Rules;
use crate::{Peekable, ResponseFuture};

/// A service whose responses are peeked at. See [`PeekLayer`](crate::PeekLayer).
#[derive(Clone, Debug)]
pub struct Peek<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S> Peek<S> {
    pub(crate) fn new(inner: S, rules: Arc<Rules>) -> Self {
        Self { inner, rules }
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, Request> Service<Request> for Peek<S>
where
    S: Service<Request>,
    S::Response: Peekable,
{
    type Response = <S::Response as Peekable>::Output;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, S::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ResponseFuture::new(self.inner.call(request), Arc::clone(&self.rules))
    }
}
