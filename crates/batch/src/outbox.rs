use std::collections::{BTreeMap, BTreeSet};

use crate::ended::Ended;

/// Results that nobody has taken yet, in the order in which they may be taken.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    /// As the input is; otherwise as they end.
    in_order: bool,
    /// In input order only: those that were begun and are not over.
    open: BTreeSet<usize>,
    ready: BTreeMap<usize, Ended<T>>,
}

impl<T> Outbox<T> {
    pub(crate) fn new(in_order: bool) -> Self {
        Self {
            in_order,
            open: BTreeSet::new(),
            ready: BTreeMap::new(),
        }
    }

    /// Below which index requests may be begun, so that no more than `most` are begun and not taken.
    pub(crate) fn until(&self, most: usize) -> usize {
        if !self.in_order {
            return usize::MAX;
        }
        let ready = self.ready.first_key_value().map(|(index, _)| index);
        let oldest = self.open.first().into_iter().chain(ready).min();
        oldest.map_or(usize::MAX, |oldest| oldest.saturating_add(most))
    }

    pub(crate) fn begun(&mut self, index: usize) {
        if self.in_order {
            self.open.insert(index);
        }
    }

    pub(crate) fn put(&mut self, ended: Ended<T>) {
        self.open.remove(&ended.index);
        self.ready.insert(ended.index, ended);
    }

    /// The next one, if nothing may come before it.
    pub(crate) fn take(&mut self) -> Option<Ended<T>> {
        let first = self.ready.first_entry()?;
        let next = self.open.first().is_none_or(|open| first.key() < open);
        next.then(|| first.remove())
    }

    /// Nothing that is open will end.
    pub(crate) fn close(&mut self) {
        self.open.clear();
    }
}
