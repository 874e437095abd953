use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Refused, RefusedReason};

use crate::heaviest::Heaviest;

/// What was refused: how many, by whom, why, and whose.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) refused: u64,
    /// Which layers, as far as they are few.
    by: Vec<&'static str>,
    /// Each reason by its index.
    reasons: [u64; RefusedReason::NAMES.len()],
    pub(crate) longest_wait: Duration,
    pub(crate) keys: Heaviest,
}

/// So many layers are named.
const LAYERS: usize = 8;

/// So many keys are named.
const KEYS: usize = 3;

impl Tally {
    pub(crate) fn add(&mut self, refused: &Refused, waited: Duration, key: Option<&Arc<str>>) {
        self.refused += 1;
        if self.by.len() < LAYERS && !self.by.contains(&refused.by) {
            self.by.push(refused.by);
        }
        self.reasons[refused.reason.index()] += 1;
        self.longest_wait = self.longest_wait.max(waited);
        key.into_iter().for_each(|key| self.keys.add(key));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.refused == 0
    }

    /// Of a reason of this name, if there were any.
    pub(crate) fn because(&self, name: &str) -> Option<u64> {
        let reasons = RefusedReason::NAMES.into_iter().zip(self.reasons);
        let mut there = reasons.filter(|(_, count)| *count > 0);
        there.find_map(|(known, count)| (known == name).then_some(count))
    }

    /// `a (13), b (6)`: the keys that are refused most often, and how often at least.
    pub(crate) fn most_refused(&self) -> Option<String> {
        let keys = self.keys.first(KEYS).into_iter();
        let keys: Vec<_> = keys
            .map(|(key, times)| format!("{key} ({times})"))
            .collect();
        (!keys.is_empty()).then(|| keys.join(", "))
    }

    /// `gate, rate`.
    pub(crate) fn by(&self) -> String {
        self.by.join(", ")
    }
}
