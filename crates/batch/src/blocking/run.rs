use std::any::Any;
use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::blocking::Batch;
use crate::clock::now;
use crate::job::{Begun, Job};
use crate::ledger::{Ledger, Next};
use crate::left::{Left, exact};
use crate::moment::Moment;
use crate::numbers::Numbers;
use crate::progress::PERIOD;
use crate::settings::Settings;
use crate::stopped::Stopped;
use crate::summary::Summary;
use crate::tail::Tail;
use crate::told::Told;

/// How a run stands, behind the lock of its threads.
pub(crate) struct Run<I: Iterator> {
    /// `None` while a thread asks it.
    input: Option<Input<I>>,
    exhausted: bool,
    tail: Tail<I::Item>,
    under_way: BTreeSet<usize>,
    threads: usize,
    ledger: Ledger,
    settings: Settings<I::Item>,
    until: Box<dyn Fn() -> bool + Send>,
    /// The first one that is no try's: nothing is begun any more.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
    requests: Option<usize>,
    started: Instant,
    shown: Instant,
}

/// Fresh requests, and the indices that they get.
pub(crate) struct Input<I> {
    source: I,
    numbers: Numbers,
    skipped: usize,
}

/// What a thread does next.
pub(crate) enum Turn<I: Iterator> {
    Try(I::Item, Begun<I::Item>),
    /// Ask for a request, without the lock: it may take long. No one else asks meanwhile.
    Ask(Input<I>),
    /// There is no room, or a try that is under way may come back.
    Wait,
    Over,
}

impl<I: Iterator> Input<I> {
    /// The next one that is not done already.
    pub(crate) fn next(&mut self) -> Option<Job<I::Item>> {
        loop {
            let request = self.source.next()?;
            if let Some(index) = self.numbers.number() {
                return Some(Job {
                    index,
                    tries: 0,
                    request,
                });
            }
            self.skipped += 1;
        }
    }
}

impl<I: Iterator> Run<I> {
    pub(crate) fn new(batch: Batch<I>) -> Self {
        let Batch {
            source,
            mut settings,
            until,
        } = batch;
        let requests = exact(source.size_hint());
        let mut ledger = Ledger::new(settings.stop_at_first_failure);
        let started = now();
        let numbers = ledger.open(settings.checkpoint.take(), requests);
        let mut run = Self {
            input: Some(Input {
                source,
                numbers,
                skipped: 0,
            }),
            exhausted: false,
            tail: Tail::new(),
            under_way: BTreeSet::new(),
            threads: 1,
            ledger,
            settings,
            until,
            panic: None,
            requests,
            started,
            shown: started,
        };
        run.show();
        run
    }

    /// Counts one more thread, if all are busy and there is room for more.
    pub(crate) fn wants_another(&mut self) -> bool {
        let busy = self.under_way.len() == self.threads;
        let window = self.settings.window.size().unwrap_or(0);
        let wants = busy && !self.exhausted && self.threads < window;
        self.threads += usize::from(wants);
        wants
    }

    /// It could not be had.
    pub(crate) fn without_another(&mut self) {
        self.threads -= 1;
    }

    pub(crate) fn turn(&mut self) -> Turn<I> {
        if self.panic.is_some() {
            return Turn::Over;
        }
        if self.ledger.stopped.is_none() && (self.until)() {
            self.ledger.stop(Stopped::Cancelled);
        }
        let window = self.settings.window.size();
        if window.is_none() {
            self.ledger.stop(Stopped::Closed);
        }
        let Some(window) = window.filter(|_| self.ledger.stopped.is_none()) else {
            return Turn::Over;
        };
        let asked = usize::from(self.input.is_none());
        if self.under_way.len() + asked >= window {
            return self.without_room(window);
        }
        if let Some(job) = self.tail.take_if_full() {
            return self.begin(job);
        }
        if let Some(input) = self.input.take_if(|_| !self.exhausted) {
            return Turn::Ask(input);
        }
        match self.tail.take() {
            Some(job) => self.begin(job),
            None if self.under_way.is_empty() && asked == 0 => Turn::Over,
            None => Turn::Wait,
        }
    }

    /// A thread waits for room, or ends where there are more than there will be room for.
    fn without_room(&mut self, window: usize) -> Turn<I> {
        if self.threads <= window {
            return Turn::Wait;
        }
        self.threads -= 1;
        Turn::Over
    }

    /// What came of asking. `None` if the input has ended.
    pub(crate) fn asked(
        &mut self,
        input: Input<I>,
        job: Option<Job<I::Item>>,
    ) -> Option<(I::Item, Begun<I::Item>)> {
        self.ledger.tally.counts.skipped = input.skipped;
        self.input = Some(input);
        self.exhausted = job.is_none();
        job.map(|job| self.begun(job))
    }

    fn begin(&mut self, job: Job<I::Item>) -> Turn<I> {
        let (request, begun) = self.begun(job);
        Turn::Try(request, begun)
    }

    fn begun(&mut self, job: Job<I::Item>) -> (I::Item, Begun<I::Item>) {
        let (request, begun) = self.settings.again.begin(job);
        self.under_way.insert(begun.index);
        (request, begun)
    }

    pub(crate) fn end<T>(&mut self, begun: Begun<I::Item>, told: Told<T>) {
        self.under_way.remove(&begun.index);
        match self.ledger.end(begun, told) {
            Next::Again(job) => self.tail.put_back(job),
            Next::Ended(ended) if ended.result.is_ok() => self.ledger.write_down(ended.index),
            Next::Ended(_) => {}
        }
        let due = self.settings.progress.is_some() && now() - self.shown >= PERIOD;
        if due {
            self.show();
        }
    }

    fn show(&mut self) {
        if self.settings.progress.is_some() {
            self.shown = now();
            let moment = Moment {
                counts: self.ledger.tally.counts,
                requests: self.requests,
                under_way: self.under_way.len(),
                steer: self.settings.window.snapshot(),
            };
            self.settings.progress.show(&moment);
        }
    }

    pub(crate) fn into_summary(mut self) -> Summary {
        self.show();
        let input = self.input.as_ref().expect("whoever asks gives it back");
        let more = exact(input.source.size_hint()).filter(|_| !self.exhausted);
        let more = more.or(self.exhausted.then_some(0));
        let left = Left::new(self.tail.indices(), input.numbers.next(), more);
        let took = now() - self.started;
        Summary::new(self.ledger.tally, took, self.ledger.stopped, left)
    }
}
