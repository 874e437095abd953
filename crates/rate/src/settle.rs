use std::fmt;

use tidegate_body::{AttachHook, End, Hook};

use crate::Kept;

/// How a quota is settled by a response `R`: what was charged becomes what it did cost.
pub trait Settle<R> {
    /// What the caller gets.
    type Response;

    /// Settles the quota of that number, or sees to that.
    fn settle(&self, response: R, kept: Option<&Kept>, number: usize) -> Self::Response;
}

/// What was charged stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsettled;

/// By a closure over the head of the response.
#[derive(Clone, Copy)]
pub struct FromHead<F>(pub(crate) F);

/// By a closure over the last 64 KiB of the body, when it has ended.
#[derive(Clone, Copy)]
pub struct FromBody<F>(pub(crate) F);

/// So much of the end of a body is read.
const READ: usize = 64 * 1024;

impl<R> Settle<R> for Unsettled {
    type Response = R;

    #[inline]
    fn settle(&self, response: R, _kept: Option<&Kept>, _number: usize) -> R {
        response
    }
}

impl<R, F: Fn(&R) -> Option<u32>> Settle<R> for FromHead<F> {
    type Response = R;

    fn settle(&self, response: R, kept: Option<&Kept>, number: usize) -> R {
        if let (Some(kept), Some(actual)) = (kept, (self.0)(&response)) {
            kept.settle(number, actual);
        }
        response
    }
}

impl<R, F> Settle<R> for FromBody<F>
where
    F: Fn(&[u8]) -> Option<u32> + Clone,
    R: AttachHook<Reading<F>>,
{
    type Response = R::Output;

    fn settle(&self, response: R, kept: Option<&Kept>, number: usize) -> R::Output {
        response.attach_hook(Reading {
            actual: self.0.clone(),
            kept: kept.cloned(),
            number,
            read: Vec::new(),
        })
    }
}

/// The hook that reads a body.
pub struct Reading<F> {
    actual: F,
    kept: Option<Kept>,
    number: usize,
    read: Vec<u8>,
}

impl<F: Fn(&[u8]) -> Option<u32>> Hook for Reading<F> {
    fn on_data(&mut self, data: &[u8]) {
        let data = &data[data.len().saturating_sub(READ)..];
        if self.read.len() + data.len() > 2 * READ {
            self.read.drain(..self.read.len().saturating_sub(READ));
        }
        self.read.extend_from_slice(data);
    }

    fn on_end(self, end: End<'_>) {
        let last = &self.read[self.read.len().saturating_sub(READ)..];
        if let (End::Complete(_), Some(kept)) = (end, &self.kept)
            && let Some(actual) = (self.actual)(last)
        {
            kept.settle(self.number, actual);
        }
    }
}

impl<F> fmt::Debug for FromHead<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromHead").finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for FromBody<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromBody").finish_non_exhaustive()
    }
}

impl<F> fmt::Debug for Reading<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("number", &self.number)
            .field("read", &self.read.len())
            .finish_non_exhaustive()
    }
}
