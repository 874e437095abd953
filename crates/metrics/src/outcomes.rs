use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use metrics::{Counter, Label};
use tidegate_core::{Cause, Outcome};

use crate::names::OUTCOME;
use crate::register;

/// How many of each outcome there were since they were last taken: an addition for each request, which
/// costs half of what a recorder's counter does.
#[derive(Debug, Default)]
pub(crate) struct Outcomes([AtomicU64; ALL.len()]);

/// One after the other as in [`index`].
const ALL: [Outcome; 7] = [
    Outcome::Success,
    Outcome::Overload(CAUSES[0]),
    Outcome::Overload(CAUSES[1]),
    Outcome::Overload(CAUSES[2]),
    Outcome::Overload(CAUSES[3]),
    Outcome::Failure,
    Outcome::Ignored,
];

/// One after the other as in the enumeration.
pub(crate) const CAUSES: [Cause; 4] = [
    Cause::Throttled,
    Cause::Unavailable,
    Cause::TimedOut,
    Cause::Connection,
];

/// How many of each outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken([u64; ALL.len()]);

/// The recorder's counters of them.
#[derive(Debug)]
pub(crate) struct Counters([Counter; ALL.len()]);

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
        Self(ALL.map(|outcome| register::counter(name, labels, Some((OUTCOME, outcome.name())))))
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
        Outcome::Overload(cause) => 1 + cause as usize,
        Outcome::Failure => 5,
        Outcome::Ignored => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_its_own_place() {
        let places: Vec<_> = ALL.iter().map(|outcome| index(*outcome)).collect();
        assert_eq!(places, [0, 1, 2, 3, 4, 5, 6]);
    }
}
