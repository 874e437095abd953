use std::time::Duration;

use reqwest::{Method, Request};
use tidegate::Report;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::attempt::{Ended, attempt};
use crate::clock::now;
use crate::progress::{Moment, Progress};
use crate::queue::{Job, Queue};
use crate::stack::Stack;
use crate::tally::Tally;
use crate::urls::Urls;

/// How often a history looks at a limit that no law moves.
const LOOKS: Duration = Duration::from_millis(100);

/// The requests of one strategy on their way. There is a task for each one in the window only.
#[derive(Debug)]
pub(crate) struct Run {
    stack: Stack,
    urls: Urls,
    most: usize,
    queue: Queue,
    tries: JoinSet<(Job, Ended)>,
    tally: Tally,
}

impl Run {
    /// `most` is how many there may be at once whatever the stack's window.
    pub(crate) fn new(stack: Stack, urls: Urls, requests: usize, most: usize) -> Self {
        Self {
            stack,
            urls,
            most,
            queue: Queue::new(requests),
            tries: JoinSet::new(),
            tally: Tally::new(),
        }
    }

    pub(crate) async fn finish(mut self, progress: Progress, history: Option<Report>) -> Tally {
        let started = now();
        let mut ticks = interval(progress.period());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut looks = interval(LOOKS);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.fill();
        while !self.tries.is_empty() {
            tokio::select! {
                Some(ended) = self.tries.join_next() => {
                    let (job, ended) = ended.expect("a try does not panic");
                    self.end(job, &ended);
                    self.fill();
                }
                _ = ticks.tick() => progress.show(&self.moment()),
                _ = looks.tick(), if history.is_some() => {
                    history.iter().for_each(|history| history.look(now()));
                }
            }
        }
        self.tally.sent = self.stack.sent().unwrap_or(self.tally.sent);
        self.tally.took = now().duration_since(started);
        self.tally
    }

    fn fill(&mut self) {
        while self.tries.len() < self.stack.window().min(self.most) {
            let Some(job) = self.queue.next() else { return };
            let request = Request::new(Method::GET, self.urls.of(job.index).clone());
            let stack = self.stack.clone();
            self.tries
                .spawn(async move { (job, attempt(stack, request).await) });
        }
    }

    fn end(&mut self, job: Job, ended: &Ended) {
        self.tally.tried(ended);
        let succeeded = matches!(ended, Ended::Succeeded { .. });
        if succeeded || job.tries == self.stack.retries() {
            self.tally.ended(ended, self.urls.of(job.index));
        } else {
            let tries = job.tries + 1;
            self.queue.put_back(Job { tries, ..job });
        }
    }

    fn moment(&self) -> Moment {
        let steer = self.stack.steer().map(|steer| steer.snapshot());
        Moment {
            done: self.tally.done(),
            steer,
            in_flight: steer.map_or(self.tries.len(), |steer| steer.in_flight),
            failures: self.tally.failures,
        }
    }
}
