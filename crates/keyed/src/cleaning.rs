//! Whoever looks a key up lets go of a few that nobody would miss.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, TryLockError};

use tidegate_core::Keyable;

use crate::entry::Entry;
use crate::key_text::weight;
use crate::shard::{Moment, Shard};
use crate::table::{SHARDS, Table, lock};

/// How often somebody cleans.
///
/// What is let go of has to be looked at, which costs about a microsecond a key: its memory is at hand
/// nowhere. So it is done by few calls: each 512th, and where requests are rare and there is much to let go
/// of each 4th.
#[derive(Debug)]
pub(crate) struct Cleaning {
    /// Of a part's look-ups those whose number ends with these bits clean.
    every: AtomicU32,
    /// The microsecond in which one of them was done last.
    last: AtomicU64,
    /// How many cleanings there are to be until there is little to do again.
    busy: AtomicUsize,
    /// The shard that is next.
    turn: AtomicUsize,
}

/// Those that clean are few enough to be no part of the slowest hundredth. The hundred calls after each
/// take some ten nanoseconds more: what they need has left the first cache.
const SELDOM: u32 = 511;
const OFTEN: u32 = 3;

/// Microseconds since the last cleaning from which on requests are rare: ten for each key that is looked at,
/// so that no more than a tenth of the time goes there.
const RARE: u64 = 10 * MOST as u64;

/// At how many keys one looks before it is seen whether half of those go: only then there is more to do.
const STEP: usize = 16;

/// At how many keys one call looks at most.
pub(crate) const MOST: usize = 2 * STEP;

/// At how many keys one looks to make room.
const SAMPLE: usize = 32;

impl Cleaning {
    /// Whether one cleans who comes after so many others.
    #[inline]
    pub(crate) fn is_due(&self, look_ups: u32) -> bool {
        let every = self.every.load(Relaxed);
        look_ups & every == every
    }

    /// Often while requests are rare, from where there was much to do until no shard has much.
    fn pace(&self, passed: u64, is_much: bool) {
        let busy = match (passed >= RARE, is_much) {
            (false, _) => 0,
            (true, true) => SHARDS,
            (true, false) => self.busy.load(Relaxed).saturating_sub(1),
        };
        self.busy.store(busy, Relaxed);
        let every = if busy > 0 { OFTEN } else { SELDOM };
        self.every.store(every, Relaxed);
    }
}

impl Default for Cleaning {
    fn default() -> Self {
        Self {
            every: AtomicU32::new(SELDOM),
            last: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
        }
    }
}

impl<L> Table<L> {
    fn next_shard(&self) -> &Mutex<Shard<L>> {
        &self.shards[self.cleaning.turn.fetch_add(1, Relaxed) % SHARDS].0
    }

    /// What it took is free before it is dropped, which may run anything. Somebody else's request lets go
    /// of it, and does not pay for a layer that panics then.
    fn let_go(&self, gone: Arc<Entry<L>>) {
        self.weight.fetch_sub(gone.key.weight(), SeqCst);
        let _ = catch_unwind(AssertUnwindSafe(|| drop(gone)));
    }
}

impl<L: Keyable> Table<L> {
    /// By one who has found its key.
    #[cold]
    #[inline(never)]
    pub(crate) fn clean_in_passing(&self) {
        let at = self.moment();
        let passed = at.micros.saturating_sub(self.cleaning.last.load(Relaxed));
        let most = if passed < RARE { STEP } else { MOST };
        let is_much = self.clean(at, most);
        self.cleaning.pace(passed, is_much);
        // From its end on: what it took itself does not make requests rare.
        self.cleaning.last.store(self.moment().micros, Relaxed);
    }

    /// Looks at a few keys, and at more of them as long as half go. Returns whether there would be more.
    #[inline(never)]
    pub(crate) fn clean(&self, at: Moment, most: usize) -> bool {
        let idle = u32::try_from(self.idle.load(Relaxed)).unwrap_or(u32::MAX);
        let shard = self.next_shard();
        for _ in 0..most / STEP {
            let mut gone = [const { None }; STEP];
            let mut places = gone.iter_mut();
            let mut shard = match shard.try_lock() {
                Ok(shard) => shard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return false,
            };
            let looked = shard.clean(STEP, at, idle, |entry| {
                let place = places.next().expect("no more go than are looked at");
                *place = Some(entry);
            });
            drop(shard);
            let went = STEP - places.len();
            gone.into_iter()
                .flatten()
                .for_each(|gone| self.let_go(gone));
            if looked == 0 || 2 * went < looked {
                return false;
            }
        }
        true
    }

    /// Room for one more key.
    pub(crate) fn reserve(&self, key: &str, at: Moment) -> Option<Reserved<'_>> {
        let weight = weight(key.len());
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

    fn make_room(&self, at: Moment) -> bool {
        let mut idlest = None;
        let mut left = SAMPLE;
        for _ in 0..SHARDS {
            let shard = self.next_shard();
            let (looked, gone, idle) = lock(shard).make_room(left, at);
            if let Some(gone) = gone {
                self.let_go(gone);
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
        gone.map(|gone| self.let_go(gone)).is_some()
    }
}

/// Room for a key of that weight, free again unless it is kept.
pub(crate) struct Reserved<'a>(&'a AtomicUsize, usize);

impl Reserved<'_> {
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, SeqCst);
    }
}
