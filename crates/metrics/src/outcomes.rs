use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use metrics::{Counter, Label};
use tidegate_core::{Cause, Outcome};

use crate::names::OUTCOME;
use crate::register;

/// How many of each outcome there were since they were last taken: an addition for each request, which
/// costs half of what a recorder's counter does.
#[derive(Debug, Default)]
pub(crate) struct Outcomes([AtomicU64; NAMES.len()]);

/// One after the other as in [`index`].
const NAMES: [&str; 7] = [
    "success",
    "throttled",
    "unavailable",
    "timed_out",
    "connection",
    "failure",
    "ignored",
];

/// How many of each outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken([u64; NAMES.len()]);

/// The recorder's counters of them.
#[derive(Debug)]
pub(crate) struct Counters([Counter; NAMES.len()]);

impl Outcomes {
    #[inline]
    pub(crate) fn add(&self, outcome: Outcome) {
        self.0[index(outcome)].fetch_add(1, Relaxed);
    }

    /// Those since the last time, each of them once.
    pub(crate) fn take(&self) -> Taken {
        Taken(std::array::from_fn(|outcome| {
            self.0[outcome].swap(0, Relaxed)
        }))
    }
}

impl Taken {
    /// Overloads and failures, and with them the successes.
    pub(crate) fn failed_of(&self) -> (u64, u64) {
        let [success, failed @ .., _ignored] = self.0;
        let failed = failed.iter().sum();
        (failed, success + failed)
    }
}

impl Counters {
    pub(crate) fn new(name: &'static str, labels: &[Label]) -> Self {
        Self(NAMES.map(|outcome| register::counter(name, labels, Some((OUTCOME, outcome)))))
    }

    pub(crate) fn add(&self, taken: &Taken) {
        for (counter, taken) in self.0.iter().zip(taken.0).filter(|(_, taken)| *taken > 0) {
            counter.increment(taken);
        }
    }
}

fn index(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Success => 0,
        Outcome::Overload(cause) => 1 + self::cause(cause),
        Outcome::Failure => 5,
        Outcome::Ignored => 6,
    }
}

/// Of an overload.
pub(crate) const CAUSES: [&str; 4] = [NAMES[1], NAMES[2], NAMES[3], NAMES[4]];

pub(crate) fn cause(cause: Cause) -> usize {
    match cause {
        Cause::Throttled => 0,
        Cause::Unavailable => 1,
        Cause::TimedOut => 2,
        Cause::Connection => 3,
    }
}
