use std::sync::Arc;

use reqwest::{Request, Response};
use tidegate::{BoxError, Error, RetryLayer, Steer, Units};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};

/// What a strategy sends its requests through.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) service: BoxCloneSyncService<Request, Response, Error>,
    /// Whose limit is followed.
    pub(crate) steer: Option<Arc<dyn Steer>>,
    /// How often a request that did not succeed goes back to the tail.
    pub(crate) retries: u32,
}

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
            retries: 0,
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
            retries: RETRIES,
        }
    }

    /// The same behind a retry layer, which tries again instead.
    pub(crate) fn retrying(self) -> Self {
        let retry = RetryLayer::exponential(100.ms()..5.s()).attempts(RETRIES + 1);
        Self {
            service: BoxCloneSyncService::new(retry.layer(self.service)),
            steer: self.steer,
            retries: 0,
        }
    }

    /// How many may be in flight, if that is limited.
    pub(crate) fn limit(&self) -> usize {
        let limit = self.steer.as_ref().map(|steer| steer.snapshot().limit);
        limit.unwrap_or(usize::MAX)
    }
}
