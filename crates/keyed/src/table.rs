use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant};

use tidegate_core::Keyable;

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
    shards: Box<[Line<Mutex<Shard<L>>>]>,
    /// What all keys weigh, those that are being made included.
    weight: AtomicUsize,
    max_keys: AtomicUsize,
    /// In seconds.
    idle: AtomicUsize,
    origin: Instant,
    /// The shard that is cleaned next.
    turn: AtomicUsize,
    /// What is used where there is no room for more.
    overflow: Mutex<Option<Arc<Entry<L>>>>,
    overflowed: AtomicUsize,
    /// Nothing of a user's runs under its lock.
    pub(crate) loaded: RwLock<Option<Loaded<L>>>,
}

/// Two cache lines of its own, since processors fetch them in pairs.
#[repr(align(128))]
struct Line<T>(T);

const SHARDS: usize = 64;

const MAX_KEYS: usize = 100_000;

const IDLE: Duration = Duration::from_secs(600);

/// After how many look-ups of a part somebody cleans. It is felt by a few calls after that too, whose
/// memory is no longer at hand: together they are less than one in a hundred.
const CLEAN_EVERY: u32 = 512;

/// At how many keys one who cleans looks, and how often, while half of those go.
const STEP: usize = 16;
const STEPS: usize = 2;

/// At how many keys one looks to make room.
const SAMPLE: usize = 32;

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
            turn: AtomicUsize::new(0),
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
        known.or_else(|| self.overflow().filter(|entry| *entry.key == *key))
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

    fn moment(&self) -> Moment {
        let now = now();
        let seconds = now.saturating_duration_since(self.origin).as_secs();
        let second = u32::try_from(seconds).unwrap_or(u32::MAX);
        Moment { now, second }
    }
}

impl<L: Keyable> Table<L> {
    /// The entry of a key, made if there is none.
    #[inline]
    pub(crate) fn find(&self, key: &str) -> Arc<Entry<L>> {
        let hash = self.hasher.hash_one(key);
        let (entry, before) = lock(self.shard(hash)).find(hash, key);
        if before % CLEAN_EVERY == CLEAN_EVERY - 1 {
            self.clean(self.moment());
        }
        entry.unwrap_or_else(|| self.find_new(hash, key))
    }

    #[cold]
    fn find_new(&self, hash: u64, key: &str) -> Arc<Entry<L>> {
        let at = self.moment();
        self.clean(at);
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

    /// Room for one more key.
    fn reserve(&self, key: &str, at: Moment) -> Option<Reserved<'_>> {
        let weight = weight(key);
        let max_keys = self.max_keys.load(Relaxed);
        let reserved = Reserved(&self.weight, weight);
        let mut all = self.weight.fetch_add(weight, SeqCst) + weight;
        let mut tries = SAMPLE;
        while all > max_keys {
            if tries == 0 || !self.make_room(at) {
                return None;
            }
            tries -= 1;
            all = self.weight.load(SeqCst);
        }
        Some(reserved)
    }

    fn next_shard(&self) -> &Mutex<Shard<L>> {
        &self.shards[self.turn.fetch_add(1, Relaxed) % SHARDS].0
    }

    fn make_room(&self, at: Moment) -> bool {
        let mut idlest = None;
        let mut left = SAMPLE;
        for _ in 0..SHARDS {
            let shard = self.next_shard();
            let (looked, gone, idle) = lock(shard).make_room(left, at);
            if let Some(gone) = gone {
                self.let_go([&gone].into_iter());
                return true;
            }
            let idle = idle.map(|idle| (idle, shard));
            idlest = [idlest, idle]
                .into_iter()
                .flatten()
                .min_by_key(|(idle, _)| *idle);
            left -= looked;
            if left == 0 {
                break;
            }
        }
        let gone = idlest.and_then(|(idle, shard)| lock(shard).take(idle, at));
        self.let_go(gone.iter());
        gone.is_some()
    }

    /// Looks at a few keys, and at more of them as long as half go.
    #[inline(never)]
    fn clean(&self, at: Moment) {
        let idle = u32::try_from(self.idle.load(Relaxed)).unwrap_or(u32::MAX);
        let mut gone = [const { None }; STEP * STEPS];
        let mut places = gone.iter_mut();
        let mut shard = match self.next_shard().try_lock() {
            Ok(shard) => shard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for _ in 0..STEPS {
            let before = places.len();
            let looked = shard.clean(STEP, at, idle, |entry| {
                let place = places.next().expect("no more go than are looked at");
                *place = Some(entry);
            });
            if looked == 0 || 2 * (before - places.len()) < looked {
                break;
            }
        }
        drop(shard);
        self.let_go(gone.iter().flatten());
    }

    /// What they took is free before they are dropped, which may run anything.
    fn let_go<'a>(&self, gone: impl Iterator<Item = &'a Arc<Entry<L>>>)
    where
        L: 'a,
    {
        let weight = gone.map(|entry| weight(&entry.key)).sum();
        self.weight.fetch_sub(weight, SeqCst);
    }
}

/// How many keys a key counts as: one, and one more for each KiB of its text.
fn weight(key: &str) -> usize {
    1 + key.len() / 1024
}

/// Room for a key of that weight, free again unless it is kept.
struct Reserved<'a>(&'a AtomicUsize, usize);

impl Reserved<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, SeqCst);
    }
}

/// Nothing of a user's runs under it but [`Keyable::freshness`], whose panics end there.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
