use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::Stream;

use crate::job::Job;
use crate::left::{Left, exact};
use crate::numbers::Numbers;
use crate::tail::Tail;

/// What is to be sent: fresh from the input, which is asked for no more than there is room for, and
/// what failed.
pub(crate) struct Queue<Src: Stream> {
    source: Pin<Box<Src>>,
    exhausted: bool,
    pub(crate) numbers: Numbers,
    pub(crate) tail: Tail<Src::Item>,
    pub(crate) skipped: usize,
}

/// How many requests that are done already may be passed over before others have their turn.
const SKIPS: usize = 1_024;

impl<Src: Stream> Queue<Src> {
    pub(crate) fn new(source: Src) -> Self {
        Self {
            source: Box::pin(source),
            exhausted: false,
            numbers: Numbers::default(),
            tail: Tail::new(),
            skipped: 0,
        }
    }

    /// How many requests are to come, if the input tells.
    pub(crate) fn size(&self) -> Option<usize> {
        exact(self.source.size_hint())
    }

    /// The next request; `None` if there will be none unless one that is under way fails. Fresh ones
    /// are those below `until` only.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        until: usize,
    ) -> Poll<Option<Job<Src::Item>>> {
        if let Some(job) = self.tail.take_if_full() {
            return Poll::Ready(Some(job));
        }
        if self.exhausted || self.numbers.next() >= until {
            return Poll::Ready(self.tail.take());
        }
        match self.poll_fresh(context) {
            Poll::Ready(Some(job)) => Poll::Ready(Some(job)),
            Poll::Ready(None) => Poll::Ready(self.tail.take()),
            Poll::Pending => self
                .tail
                .take()
                .map_or(Poll::Pending, |job| Poll::Ready(Some(job))),
        }
    }

    fn poll_fresh(&mut self, context: &mut Context<'_>) -> Poll<Option<Job<Src::Item>>> {
        for _ in 0..SKIPS {
            let Some(request) = ready!(self.source.as_mut().poll_next(context)) else {
                self.exhausted = true;
                return Poll::Ready(None);
            };
            if let Some(index) = self.numbers.number() {
                return Poll::Ready(Some(Job {
                    index,
                    tries: 0,
                    request,
                }));
            }
            self.skipped += 1;
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Whether nothing will come unless what is under way fails.
    pub(crate) fn is_empty(&self) -> bool {
        self.tail.is_empty() && (self.exhausted || self.size() == Some(0))
    }

    pub(crate) fn left(&self, under_way: impl Iterator<Item = usize>) -> Left {
        let more = if self.exhausted { Some(0) } else { self.size() };
        Left::new(
            self.tail.indices().chain(under_way),
            self.numbers.next(),
            more,
        )
    }
}

impl<Src: Stream> fmt::Debug for Queue<Src> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("exhausted", &self.exhausted)
            .field("next", &self.numbers.next())
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}
