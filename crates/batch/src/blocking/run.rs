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
    source: I,
    exhausted: bool,
    numbers: Numbers,
    tail: Tail<I::Item>,
    under_way: BTreeSet<usize>,
    threads: usize,
    ledger: Ledger,
    settings: Settings<I::Item>,
    until: Box<dyn Fn() -> bool + Send>,
    requests: Option<usize>,
    started: Instant,
    shown: Instant,
}

/// What a thread does next.
pub(crate) enum Turn<R> {
    Try(R, Begun<R>),
    /// There is no room, or a try that is under way may come back.
    Wait,
    Over,
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
            source,
            exhausted: false,
            numbers,
            tail: Tail::new(),
            under_way: BTreeSet::new(),
            threads: 1,
            ledger,
            settings,
            until,
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
        let wants = busy && !self.exhausted && self.threads < self.settings.window.size();
        self.threads += usize::from(wants);
        wants
    }

    /// It could not be had.
    pub(crate) fn without_another(&mut self) {
        self.threads -= 1;
    }

    pub(crate) fn turn(&mut self) -> Turn<I::Item> {
        if self.ledger.stopped.is_none() && (self.until)() {
            self.ledger.stop(Stopped::Cancelled);
        }
        if self.ledger.stopped.is_some() {
            return Turn::Over;
        }
        if self.under_way.len() >= self.settings.window.size() {
            return Turn::Wait;
        }
        match self.next() {
            Some(job) => {
                let (request, begun) = self.settings.again.begin(job);
                self.under_way.insert(begun.index);
                Turn::Try(request, begun)
            }
            None if self.under_way.is_empty() => Turn::Over,
            None => Turn::Wait,
        }
    }

    fn next(&mut self) -> Option<Job<I::Item>> {
        let full = self.tail.take_if_full();
        full.or_else(|| self.fresh()).or_else(|| self.tail.take())
    }

    fn fresh(&mut self) -> Option<Job<I::Item>> {
        while !self.exhausted {
            let Some(request) = self.source.next() else {
                self.exhausted = true;
                break;
            };
            if let Some(index) = self.numbers.number() {
                return Some(Job {
                    index,
                    tries: 0,
                    request,
                });
            }
            self.ledger.tally.counts.skipped += 1;
        }
        None
    }

    pub(crate) fn end<T>(&mut self, begun: Begun<I::Item>, told: Told<T>) {
        self.under_way.remove(&begun.index);
        if let Next::Again(job) = self.ledger.end(begun, told) {
            self.tail.put_back(job);
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
        let more = if self.exhausted {
            Some(0)
        } else {
            exact(self.source.size_hint())
        };
        let left = Left::new(self.tail.indices(), self.numbers.next(), more);
        let took = now() - self.started;
        Summary::new(self.ledger.tally, took, self.ledger.stopped, left)
    }
}
