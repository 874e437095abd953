use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Refused;

use crate::heaviest::Heaviest;

/// What was refused: how many, by whom, why, and whose.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) refused: u64,
    /// Which layers, as far as they are few.
    by: Vec<&'static str>,
    /// Each reason by its name.
    reasons: Vec<(&'static str, u64)>,
    pub(crate) longest_wait: Duration,
    pub(crate) keys: Heaviest,
}

/// So many layers are named.
const LAYERS: usize = 8;

impl Tally {
    pub(crate) fn add(&mut self, refused: &Refused, waited: Duration, key: Option<&Arc<str>>) {
        self.refused += 1;
        if self.by.len() < LAYERS && !self.by.contains(&refused.by) {
            self.by.push(refused.by);
        }
        let name = refused.reason.name();
        match self.reasons.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.reasons.push((name, 1)),
        }
        self.longest_wait = self.longest_wait.max(waited);
        key.into_iter().for_each(|key| self.keys.add(key));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.refused == 0
    }

    /// Of a reason of this name, if there were any.
    pub(crate) fn because(&self, name: &str) -> Option<u64> {
        let mut reasons = self.reasons.iter();
        let (_, count) = reasons.find(|(known, _)| *known == name)?;
        Some(*count)
    }

    /// `gate, rate`.
    pub(crate) fn by(&self) -> String {
        self.by.join(", ")
    }
}
