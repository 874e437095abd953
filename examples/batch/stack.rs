use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use reqwest::{Request, Response};
use tidegate::{BoxError, Error, RetryLayer, Steer, Units};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

/// What a strategy sends its requests through.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    service: BoxCloneSyncService<Request, Response, Error>,
    steer: Option<Arc<dyn Steer>>,
    /// How many were sent, where one try may be many.
    sent: Option<Arc<AtomicUsize>>,
}

/// Tries that wait at a limit, so that it is never idle while the next one is on its way.
const WAITING: usize = 8;

/// How often a request that did not succeed goes back to the tail.
const RETRIES: u32 = 5;

impl Stack {
    /// Whose requests go out as they come, each once.
    pub(crate) fn unlimited<S>(service: S) -> Self
    where
        S: Service<Request, Response = Response> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        Self {
            service: BoxCloneSyncService::new(service.map_err(Error::service)),
            steer: None,
            sent: None,
        }
    }

    /// Whose requests go out as `steer` has it, each up to six times.
    pub(crate) fn steered<S>(service: S, steer: Arc<dyn Steer>) -> Self
    where
        S: Service<Request, Response = Response, Error = Error> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self {
            service: BoxCloneSyncService::new(service),
            steer: Some(steer),
            sent: None,
        }
    }

    /// The same behind a retry layer; `sent` counts what goes out of it.
    pub(crate) fn retrying(self, sent: Arc<AtomicUsize>) -> Self {
        let retry = RetryLayer::exponential(100.ms()..5.s()).attempts(RETRIES + 1);
        Self {
            service: BoxCloneSyncService::new(retry.layer(self.service)),
            sent: Some(sent),
            ..self
        }
    }

    /// How many were sent, where that is not how many were tried.
    pub(crate) fn sent(&self) -> Option<usize> {
        self.sent.as_ref().map(|sent| sent.load(Relaxed))
    }

    /// How many tries there may be at once, those that wait included.
    pub(crate) fn window(&self) -> usize {
        let limit = self.steer.as_ref().map(|steer| steer.snapshot().limit);
        limit.map_or(usize::MAX, |limit| limit.saturating_add(WAITING))
    }

    pub(crate) fn steer(&self) -> Option<&Arc<dyn Steer>> {
        self.steer.as_ref()
    }

    /// How often a request that did not succeed is tried again.
    pub(crate) fn retries(&self) -> u32 {
        let tail = self.steer.is_some() && self.sent.is_none();
        if tail { RETRIES } else { 0 }
    }

    pub(crate) async fn send(self, request: Request) -> Result<Response, Error> {
        self.service.oneshot(request).await
    }
}
