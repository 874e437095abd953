use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::clock::now;
use crate::ended::Ended;
use crate::job::Job;
use crate::ledger::{Ledger, Next};
use crate::moment::Moment;
use crate::outbox::Outbox;
use crate::progress::PERIOD;
use crate::queue::Queue;
use crate::settings::{Settings, Until};
use crate::stopped::Stopped;
use crate::summary::Summary;
use crate::tries::Tries;

/// The results of a run, each when it is over: a stream of [`Ended`].
///
/// It is what drives the run, in whichever task polls it.
#[must_use = "nothing is sent before it is polled"]
pub struct Results<Src: Stream, T> {
    queue: Queue<Src>,
    tries: Tries<Src::Item, T>,
    outbox: Outbox<T>,
    ledger: Ledger,
    settings: Settings<Src::Item>,
    until: Until,
    requests: Option<usize>,
    ticks: Option<Interval>,
    started: Option<Instant>,
    took: Option<Duration>,
}

/// Nothing of it is pinned in place.
impl<Src: Stream, T> Unpin for Results<Src, T> {}

impl<Src: Stream, T: Send + 'static> Results<Src, T> {
    pub(crate) fn new(
        source: Src,
        settings: Settings<Src::Item>,
        until: Until,
        tries: Tries<Src::Item, T>,
    ) -> Self {
        let queue = Queue::new(source);
        Self {
            requests: queue.size(),
            queue,
            tries,
            outbox: Outbox::new(settings.in_order),
            ledger: Ledger::new(settings.stop_at_first_failure),
            settings,
            until,
            ticks: None,
            started: None,
            took: None,
        }
    }

    /// What it has come to. What is under way ends, as if it had not been begun.
    pub fn into_summary(mut self) -> Summary {
        if self.took.is_none() {
            self.ledger.stop(Stopped::Dropped);
        }
        let took = self.took.unwrap_or_else(|| self.since_start());
        let left = self.queue.left(self.tries.indices());
        self.ledger.tally.counts.skipped = self.queue.skipped;
        Summary::new(self.ledger.tally, took, self.ledger.stopped, left)
    }

    /// How it stands.
    pub fn moment(&self) -> Moment {
        let mut counts = self.ledger.tally.counts;
        counts.skipped = self.queue.skipped;
        Moment {
            counts,
            requests: self.requests,
            under_way: self.tries.len(),
            steer: self.settings.window.snapshot(),
        }
    }

    fn since_start(&self) -> Duration {
        self.started
            .map_or(Duration::ZERO, |started| now() - started)
    }

    /// Once, at the first poll.
    fn start(&mut self) {
        if self.started.is_some() {
            return;
        }
        self.started = Some(now());
        let checkpoint = self.settings.checkpoint.take();
        self.queue.numbers = self.ledger.open(checkpoint, self.requests);
        if self.settings.progress.is_some() || self.settings.window.steer.is_some() {
            let mut ticks = interval(PERIOD);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            self.ticks = Some(ticks);
        }
    }

    fn poll_until(&mut self, context: &mut Context<'_>) {
        let Some(until) = &mut self.until.0 else {
            return;
        };
        if until.as_mut().poll(context).is_ready() {
            self.until.0 = None;
            self.ledger.stop(Stopped::Cancelled);
        }
    }

    fn poll_ticks(&mut self, context: &mut Context<'_>) {
        let Some(ticks) = &mut self.ticks else { return };
        let mut due = false;
        while ticks.poll_tick(context).is_ready() {
            due = true;
        }
        if due {
            self.show();
        }
    }

    fn show(&mut self) {
        let moment = self.moment();
        self.settings.progress.show(&moment);
    }

    /// Begins as many as there is room for.
    fn fill(&mut self, context: &mut Context<'_>) {
        while self.ledger.stopped.is_none() && self.has_room() {
            let until = self.outbox.until(self.settings.window.most);
            match self.queue.poll_next(context, until) {
                Poll::Ready(Some(job)) => self.begin(job),
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }

    fn has_room(&mut self) -> bool {
        let Some(window) = self.settings.window.size() else {
            self.ledger.stop(Stopped::Closed);
            return false;
        };
        self.tries.len() < window
    }

    fn begin(&mut self, job: Job<Src::Item>) {
        let (request, begun) = self.settings.again.begin(job);
        self.outbox.begun(begun.index);
        self.tries.begin(request, begun);
    }

    /// With nothing under way, whether anything may still come.
    fn is_over(&self) -> bool {
        self.ledger.stopped.is_some() || self.queue.exhausted()
    }

    fn finish(&mut self) {
        if self.took.is_none() {
            self.took = Some(self.since_start());
            self.ticks = None;
            self.until.0 = None;
            self.show();
        }
    }
}

impl<Src: Stream, T: Send + 'static> Stream for Results<Src, T> {
    type Item = Ended<T>;

    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled, and if the input panics.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Ended<T>>> {
        let this = &mut *self;
        this.start();
        loop {
            this.poll_until(context);
            this.poll_ticks(context);
            this.fill(context);
            if let Some(ended) = this.outbox.take() {
                return Poll::Ready(Some(ended));
            }
            match this.tries.poll_ended(context) {
                Poll::Ready(Some((begun, told))) => match this.ledger.end(begun, told) {
                    Next::Ended(ended) => this.outbox.put(ended),
                    Next::Again(job) => this.queue.tail.put_back(job),
                },
                Poll::Ready(None) if this.is_over() => {
                    // What stands at the tail of a run that was stopped holds nothing back.
                    this.outbox.close();
                    let last = this.outbox.take();
                    if last.is_none() {
                        this.finish();
                    }
                    return Poll::Ready(last);
                }
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<Src: Stream, T> fmt::Debug for Results<Src, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results")
            .field("queue", &self.queue)
            .field("counts", &self.ledger.tally.counts)
            .field("stopped", &self.ledger.stopped)
            .finish_non_exhaustive()
    }
}
