use std::collections::VecDeque;
use std::ops::Range;

/// Requests that are to be sent, in order; those that come back stand behind all others.
#[derive(Debug)]
pub(crate) struct Queue {
    fresh: Range<usize>,
    tail: VecDeque<Job>,
}

/// A request, and how often it has been tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) index: usize,
    pub(crate) tries: u32,
}

impl Queue {
    pub(crate) fn new(requests: usize) -> Self {
        Self {
            fresh: 0..requests,
            tail: VecDeque::new(),
        }
    }

    pub(crate) fn next(&mut self) -> Option<Job> {
        let fresh = self.fresh.next().map(|index| Job { index, tries: 0 });
        fresh.or_else(|| self.tail.pop_front())
    }

    pub(crate) fn put_back(&mut self, job: Job) {
        self.tail.push_back(job);
    }
}
