use std::sync::Arc;

use reqwest::{Request, Response};
use tidegate::{Error, Report, RetryLayer, Steer, Units};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service};

/// What a strategy sends its requests through.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) service: BoxCloneSyncService<Request, Response, Error>,
    /// Whose limit is followed.
    pub(crate) steer: Option<Arc<dyn Steer>>,
    /// Whose answers are heard, where that is not what is followed.
    heard: Option<Arc<dyn Steer>>,
    /// How often a request that did not succeed goes back to the tail.
    pub(crate) retries: u32,
}

const RETRIES: u32 = 5;

impl Stack {
    /// Whose requests go out as they come, each once.
    pub(crate) fn unlimited<S>(service: S, heard: Arc<dyn Steer>) -> Self
    where
        S: Service<Request, Response = Response, Error = Error> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self {
            service: BoxCloneSyncService::new(service),
            steer: None,
            heard: Some(heard),
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
            heard: None,
            retries: RETRIES,
        }
    }

    /// Whose answers are heard elsewhere than what is followed.
    pub(crate) fn heard(self, heard: Arc<dyn Steer>) -> Self {
        let heard = Some(heard);
        Self { heard, ..self }
    }

    /// The same behind a retry layer, which tries again instead.
    pub(crate) fn retrying(self) -> Self {
        let retry = RetryLayer::exponential(100.ms()..5.s()).attempts(RETRIES + 1);
        Self {
            service: BoxCloneSyncService::new(retry.layer(self.service)),
            retries: 0,
            ..self
        }
    }

    /// Hears all of it from now on.
    pub(crate) fn report(&self) -> Report {
        let heard = self.heard.as_ref();
        let attached = self.steer.as_ref().or(heard);
        let report = attached.map_or_else(Report::new, Report::attach);
        if let (Some(_), Some(heard)) = (&self.steer, heard) {
            heard.observe(Arc::new(report.clone()));
        }
        report
    }

    /// How many may be in flight, if that is limited.
    pub(crate) fn limit(&self) -> usize {
        let limit = self.steer.as_ref().map(|steer| steer.snapshot().limit);
        limit.unwrap_or(usize::MAX)
    }
}
