use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tidegate_core::{BoxError, Error, Keyable};
use tower_layer::Layer;
use tower_service::Service;

use crate::table::Table;
use crate::{Below, Key, KeyedHandle, ResponseFuture};

/// A service behind a layer of its own for each key. See [`KeyedLayer`](crate::KeyedLayer).
pub struct Keyed<S, K, L> {
    inner: S,
    key: K,
    table: Arc<Table<L>>,
}

impl<S, K, L> Keyed<S, K, L> {
    pub(crate) fn new(inner: S, key: K, table: Arc<Table<L>>) -> Self {
        Self { inner, key, table }
    }

    /// Watches and moves what is kept, while it runs.
    pub fn handle(&self) -> KeyedHandle<L> {
        KeyedHandle::new(Arc::clone(&self.table))
    }

    /// The service below.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S, K, L, Request> Service<Request> for Keyed<S, K, L>
where
    S: Service<Request> + Clone,
    S::Error: Into<BoxError>,
    K: Key<Request>,
    L: Layer<Below<S>> + Keyable,
    L::Service: Service<Request>,
    <L::Service as Service<Request>>::Error: Into<BoxError>,
{
    type Response = <L::Service as Service<Request>>::Response;
    type Error = Error;
    type Future = ResponseFuture<L::Service, Request, L>;

    /// Always ready: the future waits, not the service.
    #[inline]
    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request) -> Self::Future {
        let entry = self.key.with_key(&request, |key| self.table.find(key));
        // The clone has not been polled: the stack of the key asks for its readiness.
        let service = entry.layer.layer(Below(self.inner.clone()));
        ResponseFuture::new(service, request, entry)
    }
}

impl<S: Clone, K: Clone, L> Clone for Keyed<S, K, L> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            key: self.key.clone(),
            table: Arc::clone(&self.table),
        }
    }
}

impl<S: fmt::Debug, K, L> fmt::Debug for Keyed<S, K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("inner", &self.inner)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
