use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tidegate_core::Refused;

/// The wait for tokens. Holds neither tokens nor a place in the queue before it is polled; dropped,
/// it leaves the queue.
#[derive(Debug)]
#[must_use = "nothing happens before it is polled"]
pub struct Acquire(tidegate_admission::Acquire);

impl Acquire {
    pub(crate) fn new(acquire: tidegate_admission::Acquire) -> Self {
        Self(acquire)
    }
}

impl Future for Acquire {
    type Output = Result<(), Refused>;

    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled, if it has to wait.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_ok(drop)
    }
}
