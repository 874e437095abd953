use std::sync::atomic::{AtomicU64, Ordering};

use crate::level::{Level, RETRY};

/// How much a budget gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// What an original request deposits, in units.
    pub(crate) share: u64,
    /// What there is without any deposit, in units.
    pub(crate) reserve: u64,
}

/// The level of one budget, in one word.
#[derive(Debug)]
pub(crate) struct Account(AtomicU64);

impl Account {
    pub(crate) fn new(terms: Terms) -> Self {
        Self(AtomicU64::new(Level::new(terms.reserve).pack()))
    }

    pub(crate) fn deposit(&self, terms: Terms, second: u64) {
        self.update(|level| Some(level.at(second, terms.reserve).deposit(terms.share)));
    }

    /// Whether there was one retry left.
    pub(crate) fn withdraw(&self, terms: Terms, second: u64) -> bool {
        self.update(|level| level.at(second, terms.reserve).withdraw())
    }

    /// A retry that was paid for and not made.
    pub(crate) fn give_back(&self) {
        self.update(|level| Some(level.deposit(RETRY)));
    }

    pub(crate) fn level(&self, terms: Terms, second: u64) -> Level {
        self.last().at(second, terms.reserve)
    }

    /// As it was left.
    pub(crate) fn last(&self) -> Level {
        Level::unpack(self.0.load(Ordering::Relaxed))
    }

    /// Nothing else is published with the word, so that no order is needed.
    fn update(&self, step: impl Fn(Level) -> Option<Level>) -> bool {
        let step = |word| step(Level::unpack(word)).map(Level::pack);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, step)
            .is_ok()
    }
}
