//! A service that holds its callers to the contract of `Service`.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tidegate::Units;
use tokio::time::sleep;
use tower::Service;

/// Answers with the length of the request after 10 ms; panics when it is called without having been
/// ready, as this very instance, for this very call.
#[derive(Debug, Default)]
pub(crate) struct Strict {
    script: Arc<Script>,
    asked: usize,
    ready: bool,
}

#[derive(Debug, Default)]
struct Script {
    /// Not ready at first: pending twice.
    at_once: bool,
    calls: AtomicUsize,
    /// How many calls from now on fail.
    failures: AtomicUsize,
    never_ready: AtomicBool,
}

impl Strict {
    /// Ready when it is first asked.
    pub(crate) fn ready_at_once() -> Self {
        let script = Script {
            at_once: true,
            ..Script::default()
        };
        Self {
            script: Arc::new(script),
            ..Self::default()
        }
    }

    /// Its calls so far, those of all clones.
    pub(crate) fn calls(&self) -> usize {
        self.script.calls.load(SeqCst)
    }

    pub(crate) fn fail_next_calls(&self, count: usize) {
        self.script.failures.store(count, SeqCst);
    }

    /// From now on asking for readiness fails, or no longer does.
    pub(crate) fn break_readiness(&self, broken: bool) {
        self.script.never_ready.store(broken, SeqCst);
    }
}

/// A clone was never ready.
impl Clone for Strict {
    fn clone(&self) -> Self {
        Self {
            script: Arc::clone(&self.script),
            ..Self::default()
        }
    }
}

impl Service<String> for Strict {
    type Response = u32;
    type Error = StrictError;
    type Future = BoxFuture<'static, Result<u32, StrictError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StrictError>> {
        if self.asked < 2 && !self.script.at_once {
            self.asked += 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.script.never_ready.load(SeqCst) {
            return Poll::Ready(Err(StrictError::NotReady));
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: String) -> Self::Future {
        assert!(self.ready, "called without having been ready");
        self.ready = false;
        self.asked = 0;
        self.script.calls.fetch_add(1, SeqCst);
        let failures = &self.script.failures;
        let fails = failures.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() {
            return Box::pin(ready(Err(StrictError::Failed)));
        }
        Box::pin(async move {
            sleep(10.ms()).await;
            Ok(request.len() as u32)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StrictError {
    NotReady,
    Failed,
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReady => "it cannot get ready",
            Self::Failed => "it failed",
        })
    }
}

impl std::error::Error for StrictError {}
