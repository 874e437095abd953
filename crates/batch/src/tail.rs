use std::collections::VecDeque;

use crate::job::Job;

/// Requests that failed and are tried again, behind all others; with as many of them as may stand
/// there, before all others, so that memory stays bounded.
#[derive(Debug)]
pub(crate) struct Tail<R> {
    jobs: VecDeque<Job<R>>,
}

/// How many may stand there before they come first.
const MOST: usize = 1_000;

impl<R> Tail<R> {
    pub(crate) fn new() -> Self {
        let jobs = VecDeque::new();
        Self { jobs }
    }

    pub(crate) fn put_back(&mut self, job: Job<R>) {
        self.jobs.push_back(job);
    }

    /// The next one, if nothing fresh may come before it.
    pub(crate) fn take_if_full(&mut self) -> Option<Job<R>> {
        (self.jobs.len() >= MOST).then(|| self.jobs.pop_front())?
    }

    pub(crate) fn take(&mut self) -> Option<Job<R>> {
        self.jobs.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> {
        self.jobs.iter().map(|job| job.index)
    }
}
