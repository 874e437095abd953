use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::task::unconstrained;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::clock::now;
use crate::ended::Ended;
use crate::job::{Begun, Job};
use crate::ledger::{Ledger, Next};
use crate::moment::Moment;
use crate::outbox::Outbox;
use crate::progress::PERIOD;
use crate::queue::Queue;
use crate::settings::{Settings, Until};
use crate::stopped::Stopped;
use crate::summary::Summary;
use crate::told::Told;
use crate::tries::{Cancelled, Tries};

/// Many requests and what is made of their answers, to be [run](Self::run); or, each when it is over, a
/// stream of [`Ended`].
///
/// The stream is what drives the run, in whichever task polls it: while nobody does, nothing is begun, and
/// what is under way goes on. So there is at most a window of results that nobody has taken, and another
/// of what is under way. Dropped, it ends what is under way.
#[must_use = "nothing is sent before it is run"]
pub struct Results<Src: Stream, T> {
    queue: Queue<Src>,
    tries: Tries<Src::Item, T>,
    outbox: Outbox<T>,
    ledger: Ledger,
    settings: Settings<Src::Item>,
    until: Until,
    /// The one that was taken last, if it is done, until another is asked for.
    taken: Option<usize>,
    /// Whether nobody takes them.
    unseen: bool,
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
            taken: None,
            unseen: false,
            ticks: None,
            started: None,
            took: None,
        }
    }

    /// Runs to the end, and tells what became of it. Dropped before, it ends what is under way.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with time enabled, and if the input, the copying of a request, or who is
    /// told of the progress does.
    pub async fn run(mut self) -> Summary {
        self.unseen = true;
        self.outbox.in_any_order();
        while self.next().await.is_some() {}
        self.into_summary()
    }

    /// What it has come to. What is under way ends, as if it had not been begun.
    pub fn into_summary(mut self) -> Summary {
        self.write_down();
        if self.took.is_none() {
            self.ledger.stop(Stopped::Dropped);
        }
        let took = self.took.unwrap_or_else(|| self.since_start());
        let not_taken = self.outbox.indices();
        let left = self.queue.left(self.tries.indices().chain(not_taken));
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
            let mut ticks = interval_at(now() + PERIOD, PERIOD);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            self.ticks = Some(ticks);
            self.show();
        }
    }

    /// Whoever took a result and comes back is done with it.
    fn write_down(&mut self) {
        if let Some(index) = self.taken.take() {
            self.ledger.write_down(index);
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

    /// Also where the results have used up what a task may do in one turn.
    fn poll_ticks(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(ticks) = &mut self.ticks else {
            return Poll::Pending;
        };
        let tick = pin!(unconstrained(ticks.tick())).poll(context);
        tick.map(|_| self.show())
    }

    fn show(&mut self) {
        let moment = self.moment();
        self.settings.progress.show(&moment);
    }

    /// Sees to all tries that have ended.
    fn drain(&mut self, context: &mut Context<'_>) -> Drained {
        let mut some = false;
        loop {
            match self.tries.poll_ended(context) {
                Poll::Ready(Some(Ok((begun, told)))) => self.end(begun, told),
                Poll::Ready(Some(Err(Cancelled))) => {
                    // There are no timers any more.
                    (self.ticks, self.until.0) = (None, None);
                    self.ledger.stop(Stopped::Shutdown);
                }
                Poll::Ready(None) => return Drained { some, all: true },
                Poll::Pending => return Drained { some, all: false },
            }
            some = true;
        }
    }

    fn end(&mut self, begun: Begun<Src::Item>, told: Told<T>) {
        match self.ledger.end(begun, told) {
            Next::Again(job) => self.queue.tail.put_back(job),
            Next::Ended(ended) if self.unseen && ended.result.is_ok() => {
                self.ledger.write_down(ended.index);
            }
            Next::Ended(_) if self.unseen => {}
            Next::Ended(ended) => self.outbox.put(ended),
        }
    }

    /// Begins as many as there is room for, and says whether that is any.
    fn fill(&mut self, context: &mut Context<'_>) -> bool {
        let mut some = false;
        if self.ledger.stopped.is_some() || self.queue.is_empty() {
            return some;
        }
        let Some(window) = self.settings.window.size() else {
            self.ledger.stop(Stopped::Closed);
            return some;
        };
        while self.tries.len() < window {
            let until = self.outbox.until(self.settings.window.most);
            let Poll::Ready(Some(job)) = self.queue.poll_next(context, until) else {
                break;
            };
            self.begin(job);
            some = true;
        }
        some
    }

    fn begin(&mut self, job: Job<Src::Item>) {
        let (request, begun) = self.settings.again.begin(job);
        self.outbox.begun(begun.index);
        self.tries.begin(request, begun);
    }

    /// With nothing under way, whether anything may still come.
    fn is_over(&self) -> bool {
        self.ledger.stopped.is_some() || self.queue.is_empty()
    }

    fn finish(&mut self) {
        if self.took.is_none() {
            self.took = Some(self.since_start());
            self.ticks = None;
            self.until.0 = None;
            self.ledger.close();
            self.show();
        }
    }
}

impl<Src: Stream, T: Send + 'static> Stream for Results<Src, T> {
    type Item = Ended<T>;

    /// # Panics
    ///
    /// As [`run`](Results::run) does.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Ended<T>>> {
        let this = &mut *self;
        this.start();
        this.write_down();
        loop {
            if let Some(ended) = this.outbox.take() {
                this.taken = ended.result.is_ok().then_some(ended.index);
                return Poll::Ready(Some(ended));
            }
            this.poll_until(context);
            let drained = this.drain(context);
            // All that has ended makes room before any of it is taken.
            if this.fill(context) || drained.some {
                continue;
            }
            if !(drained.all && this.is_over()) {
                ready!(this.poll_ticks(context));
            } else if !this.outbox.close() {
                this.finish();
                return Poll::Ready(None);
            }
        }
    }
}

/// What there was of tries that had ended.
struct Drained {
    some: bool,
    /// None is under way any more.
    all: bool,
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
