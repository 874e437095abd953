use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};
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
    /// How many keys there are, those that are being made included.
    keys: AtomicUsize,
    max_keys: AtomicUsize,
    /// In seconds.
    idle: AtomicUsize,
    origin: Instant,
    /// The shard that is cleaned next.
    turn: AtomicUsize,
    /// What is used where there is no room for more.
    overflow: OnceLock<Arc<Entry<L>>>,
    overflowed: AtomicUsize,
    pub(crate) loaded: RwLock<Option<Loaded<L>>>,
    /// One change of the settings at a time.
    pub(crate) reload: Mutex<()>,
}

/// A cache line of its own.
#[repr(align(64))]
struct Line<T>(T);

const SHARDS: usize = 64;

const MAX_KEYS: usize = 100_000;

const IDLE: Duration = Duration::from_secs(600);

/// At how many keys one who cleans looks, and at how many more while half of those go.
const STEP: usize = 8;
const STEPS: usize = 8;

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
            keys: AtomicUsize::new(0),
            max_keys: AtomicUsize::new(MAX_KEYS),
            idle: AtomicUsize::new(IDLE.as_secs() as usize),
            origin: now(),
            turn: AtomicUsize::new(0),
            overflow: OnceLock::new(),
            overflowed: AtomicUsize::new(0),
            loaded: RwLock::new(None),
            reload: Mutex::new(()),
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
        self.keys.load(Relaxed)
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
        let shard = lock(self.shard(hash));
        let known = shard.peek(hash, key).cloned();
        drop(shard);
        known.or_else(|| {
            self.overflow
                .get()
                .filter(|entry| *entry.key == *key)
                .cloned()
        })
    }

    /// Calls `each` with every entry, outside of every lock.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Entry<L>)) {
        for shard in &self.shards {
            let entries: Vec<_> = lock(&shard.0).entries().cloned().collect();
            entries.iter().for_each(|entry| each(entry));
        }
        self.overflow
            .get()
            .into_iter()
            .for_each(|entry| each(entry));
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
        let (entry, clean) = lock(self.shard(hash)).find(hash, key);
        if clean {
            self.clean(self.moment());
        }
        entry.unwrap_or_else(|| self.find_new(hash, key))
    }

    #[cold]
    fn find_new(&self, hash: u64, key: &str) -> Arc<Entry<L>> {
        let at = self.moment();
        self.clean(at);
        let Some(reserved) = self.reserve(at) else {
            self.overflowed.fetch_add(1, Relaxed);
            let shared = || Arc::new(self.entry(self.hasher.hash_one(SHARED), SHARED));
            return Arc::clone(self.overflow.get_or_init(shared));
        };
        let loaded = self.loaded();
        let entry = Arc::new(self.entry_with(hash, key, loaded.as_ref()));
        let mut shard = lock(self.shard(hash));
        if let (Some(other), _) = shard.find(hash, key) {
            // Outside of the lock `entry` and `reserved` go.
            drop(shard);
            return other;
        }
        shard.insert(Arc::clone(&entry), at.second);
        drop(shard);
        reserved.keep();
        self.catch_up(&entry, loaded);
        entry
    }

    fn entry(&self, hash: u64, key: &str) -> Entry<L> {
        self.entry_with(hash, key, self.loaded().as_ref())
    }

    fn entry_with(&self, hash: u64, key: &str, loaded: Option<&Loaded<L>>) -> Entry<L> {
        let layer = self.make(key);
        loaded
            .into_iter()
            .for_each(|loaded| loaded.prepare(&layer, key));
        Entry {
            hash,
            key: key.into(),
            layer,
        }
    }

    /// Settings may have changed while it was made, and whoever changed them not have seen it.
    fn catch_up(&self, entry: &Entry<L>, mut known: Option<Loaded<L>>) {
        loop {
            let loaded = self.loaded();
            let Some(new) = &loaded else { return };
            if known.as_ref().is_some_and(|known| known.is(new)) {
                return;
            }
            new.follow(self, entry, known.as_ref());
            known = loaded;
        }
    }

    /// Room for one more key.
    fn reserve(&self, at: Moment) -> Option<Reserved<'_>> {
        let reserved = Reserved(&self.keys);
        let before = self.keys.fetch_add(1, SeqCst);
        let room = before < self.max_keys.load(Relaxed) || self.make_room(at);
        room.then_some(reserved)
    }

    fn make_room(&self, at: Moment) -> bool {
        let mut idlest = None;
        let mut left = SAMPLE;
        for _ in 0..SHARDS {
            let shard = self.next_shard();
            let (looked, gone, idle) = lock(shard).make_room(left, at);
            if gone.is_some() {
                self.keys.fetch_sub(1, SeqCst);
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
        if gone.is_some() {
            self.keys.fetch_sub(1, SeqCst);
        }
        gone.is_some()
    }

    /// Looks at a few keys, and at more of them as long as half go.
    fn clean(&self, at: Moment) {
        let idle = u32::try_from(self.idle.load(Relaxed)).unwrap_or(u32::MAX);
        let mut gone = Vec::new();
        let mut shard = match self.next_shard().try_lock() {
            Ok(shard) => shard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for _ in 0..STEPS {
            let before = gone.len();
            let looked = shard.clean(STEP, at, idle, &mut gone);
            if looked == 0 || 2 * (gone.len() - before) < looked {
                break;
            }
        }
        drop(shard);
        self.keys.fetch_sub(gone.len(), SeqCst);
    }

    fn next_shard(&self) -> &Mutex<Shard<L>> {
        &self.shards[self.turn.fetch_add(1, Relaxed) % SHARDS].0
    }
}

/// Room for a key, free again unless it is kept.
struct Reserved<'a>(&'a AtomicUsize);

impl Reserved<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Nothing of a user's runs under it but [`Keyable::freshness`], which leaves nothing half done.
fn lock<L>(shard: &Mutex<Shard<L>>) -> MutexGuard<'_, Shard<L>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
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
