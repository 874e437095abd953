use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidegate_admission::Tab;
use tidegate_core::Refused;

/// The wait for tokens. Holds neither tokens nor a place in the queue before it is polled; dropped,
/// it leaves the queue.
#[derive(Debug)]
#[must_use = "nothing happens before it is polled"]
pub struct Acquire<T: Tab = ()>(tidegate_admission::Acquire<T>);

impl<T: Tab> Acquire<T> {
    pub(crate) fn new(acquire: tidegate_admission::Acquire<T>) -> Self {
        Self(acquire)
    }
}

impl<T: Tab + Unpin> Future for Acquire<T> {
    type Output = Result<T, Refused>;

    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled, if it has to wait.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let permit = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(permit.map(|_permit| self.0.tab()))
    }
}
