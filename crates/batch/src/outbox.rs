use std::collections::VecDeque;

use crate::ended::Ended;

/// Results that nobody has taken yet, in the order in which they may be taken.
#[derive(Debug)]
pub(crate) struct Outbox<T> {
    /// As the input is; otherwise as they end.
    in_order: bool,
    /// In input order, also those that were begun and are not over, ascending.
    places: VecDeque<Place<T>>,
}

#[derive(Debug)]
struct Place<T> {
    index: usize,
    ended: Option<Ended<T>>,
}

impl<T> Outbox<T> {
    pub(crate) fn new(in_order: bool) -> Self {
        let places = VecDeque::new();
        Self { in_order, places }
    }

    /// Below which index requests may be begun, so that no more than `most` are begun and not taken.
    pub(crate) fn until(&self, most: usize) -> usize {
        let oldest = self.places.front().filter(|_| self.in_order);
        oldest.map_or(usize::MAX, |oldest| oldest.index.saturating_add(most))
    }

    /// One that is begun again has its place already.
    pub(crate) fn begun(&mut self, index: usize) {
        let last = self.places.back();
        if self.in_order && last.is_none_or(|last| last.index < index) {
            self.places.push_back(Place { index, ended: None });
        }
    }

    pub(crate) fn put(&mut self, ended: Ended<T>) {
        let index = ended.index;
        if self.in_order {
            let place = self
                .places
                .binary_search_by_key(&index, |place| place.index);
            let place = place.expect("what was begun has a place");
            self.places[place].ended = Some(ended);
        } else {
            let ended = Some(ended);
            self.places.push_back(Place { index, ended });
        }
    }

    /// The next one, if nothing may come before it.
    pub(crate) fn take(&mut self) -> Option<Ended<T>> {
        let ended = self.places.front_mut()?.ended.take()?;
        self.places.pop_front();
        Some(ended)
    }

    /// Those that nobody has taken.
    pub(crate) fn indices(&self) -> impl Iterator<Item = usize> {
        let ended = self.places.iter().filter(|place| place.ended.is_some());
        ended.map(|place| place.index)
    }

    /// From now on as they end.
    pub(crate) fn in_any_order(&mut self) {
        self.in_order = false;
        self.close();
    }

    /// Nothing that is not over will end. Whether there is anything to take.
    pub(crate) fn close(&mut self) -> bool {
        self.places.retain(|place| place.ended.is_some());
        !self.places.is_empty()
    }
}
