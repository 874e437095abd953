use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use pin_project::pin_project;
use tidegate_classify::ResponseHead;
use tidegate_core::{BoxError, Error};

use crate::durations::Durations;

/// The answer of a [`Measure`](crate::Measure). Dropped before there is one, its caller gave up.
#[pin_project]
#[must_use = "nothing happens before it is polled"]
pub struct ResponseFuture<F> {
    #[pin]
    response: F,
    measurement: Measurement,
}

/// Taken once.
struct Measurement {
    durations: Arc<Durations>,
    /// From when it is first polled, until it is over.
    started: Option<Instant>,
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(crate) fn new(response: F, durations: Arc<Durations>) -> Self {
        let measurement = Measurement {
            durations,
            started: None,
        };
        Self {
            response,
            measurement,
        }
    }
}

impl<F, Response, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response, E>>,
    Response: ResponseHead,
    E: Into<BoxError>,
{
    type Output = Result<Response, Error>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        this.measurement.start();
        let response = ready!(this.response.poll(context));
        let took = this.measurement.end();
        let durations = &this.measurement.durations;
        if let Ok(response) = &response {
            durations.answered(response.status(), took);
        }
        Poll::Ready(response.map_err(|error| {
            let error = error.into();
            durations.failed(&*error, took);
            Error::service(error)
        }))
    }
}

impl Measurement {
    #[inline]
    fn start(&mut self) {
        self.started.get_or_insert_with(now);
    }

    #[inline]
    fn end(&mut self) -> Duration {
        let started = self.started.take();
        started.map_or(Duration::ZERO, |started| {
            now().saturating_duration_since(started)
        })
    }
}

impl Drop for Measurement {
    #[inline]
    fn drop(&mut self) {
        if self.started.is_some() {
            let took = self.end();
            self.durations.cancelled(took);
        }
    }
}

/// The one place where this crate reads a clock: tokio's, which tests can pause.
#[expect(clippy::disallowed_methods, reason = "the clock of this shell")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl<F> fmt::Debug for ResponseFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture")
            .field("durations", &self.measurement.durations)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_is_three_words() {
        assert!(size_of::<ResponseFuture<u64>>() <= 8 + 3 * 8);
    }
}
