use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tidegate_core::Keyable;

use crate::cleaning::{Cleaning, MOST};
use crate::entry::Entry;
use crate::shard::{Moment, Shard};
use crate::steering::Loaded;

/// All keys and their layers.
///
/// A key that is known costs one lock of a shard. No lock is held while a layer is made, dropped or
/// called, except to ask how fresh it is.
pub(crate) struct Table<L> {
    make: Box<dyn Fn(&str) -> L + Send + Sync>,
    /// How a key is written in a request.
    normal: fn(&str) -> String,
    hasher: RandomState,
    pub(crate) shards: Box<[Line<Mutex<Shard<L>>>]>,
    /// What all keys weigh, those that are being made included.
    pub(crate) weight: AtomicUsize,
    pub(crate) max_keys: AtomicUsize,
    /// In seconds.
    pub(crate) idle: AtomicUsize,
    origin: Instant,
    pub(crate) cleaning: Cleaning,
    /// What is used where there is no room for more.
    overflow: Mutex<Option<Arc<Entry<L>>>>,
    overflowed: AtomicUsize,
    /// Nothing of a user's runs under its lock.
    pub(crate) loaded: RwLock<Option<Loaded<L>>>,
}

/// Two cache lines of its own, since processors fetch them in pairs.
#[repr(align(128))]
pub(crate) struct Line<T>(pub(crate) T);

pub(crate) const SHARDS: usize = 64;

const MAX_KEYS: usize = 100_000;

const IDLE: Duration = Duration::from_secs(600);

/// The key of what those share for which there is no room.
pub(crate) const SHARED: &str = "*";

impl<L> Table<L> {
    pub(crate) fn new(
        make: impl Fn(&str) -> L + Send + Sync + 'static,
        normal: fn(&str) -> String,
    ) -> Self {
        let shard = || Line(Mutex::new(Shard::default()));
        Self {
            make: Box::new(make),
            normal,
            hasher: RandomState::new(),
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            weight: AtomicUsize::new(0),
            max_keys: AtomicUsize::new(MAX_KEYS),
            idle: AtomicUsize::new(IDLE.as_secs() as usize),
            origin: now(),
            cleaning: Cleaning::default(),
            overflow: Mutex::new(None),
            overflowed: AtomicUsize::new(0),
            loaded: RwLock::new(None),
        }
    }

    pub(crate) fn set_max_keys(&self, max_keys: usize) {
        self.max_keys.store(max_keys.max(1), Relaxed);
    }

    pub(crate) fn set_idle(&self, idle: Duration) {
        let seconds = usize::try_from(idle.as_secs()).unwrap_or(usize::MAX);
        self.idle.store(seconds, Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(&shard.0).len()).sum()
    }

    pub(crate) fn overflowed(&self) -> usize {
        self.overflowed.load(Relaxed)
    }

    pub(crate) fn make(&self, key: &str) -> L {
        (self.make)(key)
    }

    pub(crate) fn normal(&self, key: &str) -> String {
        (self.normal)(key)
    }

    /// The entry of a key, which this does not count as a use.
    pub(crate) fn peek(&self, key: &str) -> Option<Arc<Entry<L>>> {
        let hash = self.hasher.hash_one(key);
        let known = lock(self.shard(hash)).peek(hash, key).cloned();
        known.or_else(|| self.overflow().filter(|entry| entry.key.is(key)))
    }

    /// Calls `each` with every entry, outside of every lock.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Entry<L>)) {
        for shard in &self.shards {
            let entries: Vec<_> = lock(&shard.0).entries().cloned().collect();
            entries.iter().for_each(|entry| each(entry));
        }
        self.overflow().iter().for_each(|entry| each(entry));
    }

    fn overflow(&self) -> Option<Arc<Entry<L>>> {
        lock(&self.overflow).clone()
    }

    /// By bits of the hash that neither the place nor the tag within a shard depends on.
    #[inline]
    fn shard(&self, hash: u64) -> &Mutex<Shard<L>> {
        &self.shards[(hash >> 48) as usize % SHARDS].0
    }

    pub(crate) fn moment(&self) -> Moment {
        let now = now();
        let passed = now.saturating_duration_since(self.origin);
        let second = u32::try_from(passed.as_secs()).unwrap_or(u32::MAX);
        let micros = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        Moment {
            now,
            second,
            micros,
        }
    }
}

impl<L: Keyable> Table<L> {
    /// The entry of a key, made if there is none.
    #[inline]
    pub(crate) fn find(&self, key: &str) -> Arc<Entry<L>> {
        let hash = self.hasher.hash_one(key);
        let (entry, before) = lock(self.shard(hash)).find(hash, key);
        if self.cleaning.is_due(before) {
            self.clean_in_passing();
        }
        entry.unwrap_or_else(|| self.find_new(hash, key))
    }

    #[cold]
    fn find_new(&self, hash: u64, key: &str) -> Arc<Entry<L>> {
        let at = self.moment();
        self.clean(at, MOST);
        let Some(reserved) = self.reserve(key, at) else {
            // Another thread may have made it meanwhile.
            let other = lock(self.shard(hash)).find(hash, key).0;
            return other.unwrap_or_else(|| {
                self.overflowed.fetch_add(1, Relaxed);
                self.find_shared()
            });
        };
        let (entry, mut known) = self.entry(key);
        loop {
            let mut shard = lock(self.shard(hash));
            if let Some(other) = shard.find(hash, key).0 {
                // Outside of the lock `entry` and `reserved` go.
                drop(shard);
                return other;
            }
            if self.is_loaded(known.as_ref()) {
                shard.insert(hash, Arc::clone(&entry), at.second);
                reserved.keep();
                return entry;
            }
            drop(shard);
            known = self.catch_up(&entry, known.as_ref());
        }
    }

    /// The entry of those for which there is no room.
    fn find_shared(&self) -> Arc<Entry<L>> {
        if let Some(shared) = self.overflow() {
            return shared;
        }
        let (entry, mut known) = self.entry(SHARED);
        loop {
            let mut overflow = lock(&self.overflow);
            if let Some(other) = &*overflow {
                let other = Arc::clone(other);
                drop(overflow);
                return other;
            }
            if self.is_loaded(known.as_ref()) {
                *overflow = Some(Arc::clone(&entry));
                return entry;
            }
            drop(overflow);
            known = self.catch_up(&entry, known.as_ref());
        }
    }

    /// A new entry, and which settings it has.
    fn entry(&self, key: &str) -> (Arc<Entry<L>>, Option<Loaded<L>>) {
        let loaded = self.loaded();
        let layer = self.make(key);
        loaded.iter().for_each(|loaded| loaded.prepare(&layer, key));
        let key = key.into();
        (Arc::new(Entry { key, layer }), loaded)
    }
}

/// Nothing of a user's runs under it but [`Keyable::freshness`], whose panics end there.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one place where this crate reads a clock: tokio's, which tests can pause.
#[expect(clippy::disallowed_methods, reason = "the clock of this shell")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl<L> fmt::Debug for Table<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("keys", &self.len())
            .field("max_keys", &self.max_keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    /// Keys that meet in one place of one shard for whoever hashes without a seed.
    #[test]
    fn keys_that_were_chosen_to_meet_are_spread_by_the_seed_of_the_table() {
        let known = BuildHasherDefault::<DefaultHasher>::default();
        let place = |hash: u64| ((hash >> 48) as usize % SHARDS, hash % 64);
        let chosen: Vec<_> = (0..)
            .map(|number| format!("host-{number}.example"))
            .filter(|key| place(known.hash_one(&**key)) == (0, 0))
            .take(64)
            .collect();
        let table = Table::new(|_| (), str::to_owned);
        let hashes = chosen.iter().map(|key| table.hasher.hash_one(&**key));
        let (shards, places): (HashSet<_>, HashSet<_>) = hashes.map(place).unzip();
        // As many as by chance: about 41 of 64, and 16 not once in 10^25 times.
        assert!(
            shards.len() > 16 && places.len() > 16,
            "{shards:?} {places:?}"
        );
    }
}
