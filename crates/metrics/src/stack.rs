use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

use metrics::Label;
use tidegate_core::text;

use crate::hosts::Hosts;
use crate::kind::Kind;
use crate::names::{KEY, OTHER, STACK};
use crate::series::Series;
use crate::top::Top;

/// All that one stack has in the recorder.
#[derive(Debug)]
pub(crate) struct Stack {
    labels: [Label; 1],
    hasher: RandomState,
    whole: Doors,
    keys: Top<Key>,
    other: Doors,
    hosts: Hosts,
}

/// One for each kind, once there is one of it.
#[derive(Debug, Default)]
pub(crate) struct Doors([OnceLock<Arc<Series>>; 2]);

#[derive(Debug)]
struct Key {
    hash: u64,
    name: Arc<str>,
    doors: Doors,
}

impl Stack {
    pub(crate) fn new(name: &str) -> Self {
        let labels = [Label::new(STACK, text::name(name))];
        Self {
            hosts: Hosts::new(&labels),
            labels,
            hasher: RandomState::new(),
            whole: Doors::default(),
            keys: Top::default(),
            other: Doors::default(),
        }
    }

    pub(crate) fn labels(&self) -> &[Label] {
        &self.labels
    }

    pub(crate) fn set_most(&self, most: usize) {
        self.keys.set_most(most);
        self.hosts.set_most(most);
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// That of the doors that have no key.
    pub(crate) fn series(&self, kind: Kind) -> &Arc<Series> {
        self.whole.get(kind, || self.labels.to_vec())
    }

    /// That of the keys that have no label.
    pub(crate) fn other(&self, kind: Kind) -> &Arc<Series> {
        self.other.get(kind, || self.with_key(OTHER))
    }

    pub(crate) fn hash(&self, key: &str) -> u64 {
        self.hasher.hash_one(key)
    }

    /// That of a key, if it has a label.
    pub(crate) fn key(
        &self,
        kind: Kind,
        key: &Arc<str>,
        hash: u64,
        is_new: bool,
    ) -> Option<&Arc<Series>> {
        if **key == *OTHER {
            return None;
        }
        let is = |known: &Key| known.hash == hash && known.name == *key;
        let make = || Key {
            hash,
            name: Arc::clone(key),
            doors: Doors::default(),
        };
        let known = if is_new {
            self.keys.enter(is, make)
        } else {
            self.keys.meet(hash, is, make)
        };
        known.map(|known| known.doors.get(kind, || self.with_key(key)))
    }

    pub(crate) fn refresh(&self) {
        let keys = self.keys.iter().map(|key| &key.doors);
        let all = [&self.whole, &self.other].into_iter().chain(keys);
        all.flat_map(Doors::iter)
            .for_each(|series| series.refresh());
    }

    fn with_key(&self, key: &str) -> Vec<Label> {
        let key = Label::new(KEY, key.to_owned());
        self.labels.iter().cloned().chain([key]).collect()
    }
}

impl Doors {
    fn get(&self, kind: Kind, labels: impl FnOnce() -> Vec<Label>) -> &Arc<Series> {
        self.0[kind as usize].get_or_init(|| Arc::new(Series::new(kind, labels())))
    }

    fn iter(&self) -> impl Iterator<Item = &Arc<Series>> {
        self.0.iter().filter_map(OnceLock::get)
    }
}
