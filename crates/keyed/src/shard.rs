use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashTable;
use tidegate_core::{Freshness, Keyable};

use crate::entry::Entry;

/// A part of the keys, behind one lock.
///
/// A cursor goes around in it: what it finds unused since it last came by, and worth nothing, goes.
/// So a request that finds its key only marks it, and reads no clock.
#[derive(Debug)]
pub(crate) struct Shard<L> {
    slots: HashTable<Slot<L>>,
    cursor: usize,
    look_ups: u32,
}

#[derive(Debug)]
struct Slot<L> {
    /// Beside the entry, so that a table that grows or shrinks does not go to each of them.
    hash: u64,
    entry: Arc<Entry<L>>,
    /// The second, of the table's, in which the cursor last found it in use.
    since: u32,
    /// Since the cursor last came by.
    used: bool,
}

/// A moment, and which second and microsecond of the table it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) second: u32,
    pub(crate) micros: u64,
}

/// One that only has learned something, and how long ago it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Idle {
    since: u32,
    hash: u64,
}

/// How many free places the cursor passes for each key that it is to look at.
const SPARSE: usize = 8;

/// Below so many places a shard is not made smaller.
const SMALL: usize = 64;

impl<L> Default for Shard<L> {
    fn default() -> Self {
        Self {
            slots: HashTable::new(),
            cursor: 0,
            look_ups: 0,
        }
    }
}

impl<L> Shard<L> {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry<L>>> {
        self.slots.iter().map(|slot| &slot.entry)
    }

    /// The entry of a key, and how many look-ups there were before.
    #[inline]
    pub(crate) fn find(&mut self, hash: u64, key: &str) -> (Option<Arc<Entry<L>>>, u32) {
        let before = self.look_ups;
        self.look_ups = before.wrapping_add(1);
        let slot = self
            .slots
            .find_mut(hash, |slot| slot.is(hash, key))
            .map(|slot| {
                // Not written where it is so already: threads that read the same slots do not meet there.
                if !slot.used {
                    slot.used = true;
                }
                Arc::clone(&slot.entry)
            });
        (slot, before)
    }

    /// The entry of a key, which this does not count as a use.
    pub(crate) fn peek(&self, hash: u64, key: &str) -> Option<&Arc<Entry<L>>> {
        let slot = self.slots.find(hash, |slot| slot.is(hash, key));
        slot.map(|slot| &slot.entry)
    }

    /// Keeps an entry whose key is not there.
    pub(crate) fn insert(&mut self, hash: u64, entry: Arc<Entry<L>>, second: u32) {
        let slot = Slot {
            hash,
            entry,
            since: second,
            used: true,
        };
        self.slots.insert_unique(slot.hash, slot, |slot| slot.hash);
    }
}

impl<L: Keyable> Shard<L> {
    /// Looks at the next `most` keys and takes out those that nobody would miss. Returns at how many it
    /// has looked.
    pub(crate) fn clean(
        &mut self,
        most: usize,
        at: Moment,
        idle: u32,
        goes: impl FnMut(Arc<Entry<L>>),
    ) -> usize {
        let judge = |slot: &mut Slot<L>| {
            if slot.may_go(at, idle) {
                return Verdict::Goes;
            }
            Verdict::Stays
        };
        self.look_at(most, judge, goes)
    }

    /// Looks at the next `most` keys for one to make room: takes out the first that is fresh, or else
    /// names the one that is idle for longest. Returns at how many it has looked, too.
    pub(crate) fn make_room(
        &mut self,
        most: usize,
        at: Moment,
    ) -> (usize, Option<Arc<Entry<L>>>, Option<Idle>) {
        let (mut gone, mut idlest) = (None, None::<Idle>);
        let looked = self.look_at(
            most,
            |slot| match slot.freshness(at.now) {
                Freshness::Fresh => Verdict::GoesAlone,
                Freshness::Learned => {
                    let since = if slot.used { at.second } else { slot.since };
                    let hash = slot.hash;
                    let idle = Idle { since, hash };
                    idlest = Some(idlest.map_or(idle, |other| other.min(idle)));
                    Verdict::Stays
                }
                Freshness::InUse => Verdict::Stays,
            },
            |entry| gone = Some(entry),
        );
        (looked, gone, idlest)
    }

    /// Takes out the one that was named, unless it is in use by now.
    pub(crate) fn take(&mut self, idle: Idle, at: Moment) -> Option<Arc<Entry<L>>> {
        let is_it = |slot: &Slot<L>| slot.hash == idle.hash;
        let mut slot = self.slots.find_entry(idle.hash, is_it).ok()?;
        if slot.get_mut().freshness(at.now) == Freshness::InUse {
            return None;
        }
        Some(slot.remove().0.entry)
    }

    fn look_at(
        &mut self,
        most: usize,
        mut judge: impl FnMut(&mut Slot<L>) -> Verdict,
        mut goes: impl FnMut(Arc<Entry<L>>),
    ) -> usize {
        let places = self.slots.num_buckets();
        let mut looked = 0;
        for _ in 0..places.min(most.saturating_mul(SPARSE)) {
            if looked == most {
                break;
            }
            self.cursor = (self.cursor + 1) % places;
            let Ok(mut slot) = self.slots.get_bucket_entry(self.cursor) else {
                continue;
            };
            looked += 1;
            let verdict = judge(slot.get_mut());
            if verdict != Verdict::Stays {
                goes(slot.remove().0.entry);
            }
            if verdict == Verdict::GoesAlone {
                break;
            }
        }
        let len = self.slots.len();
        if self.slots.capacity() > SMALL.max(4 * len) {
            self.slots.shrink_to(2 * len, |slot| slot.hash);
        }
        looked
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Stays,
    Goes,
    /// And nobody else is looked at.
    GoesAlone,
}

impl<L> Slot<L> {
    #[inline]
    fn is(&self, hash: u64, key: &str) -> bool {
        self.hash == hash && self.entry.key.is(key)
    }
}

impl<L: Keyable> Slot<L> {
    fn may_go(&mut self, at: Moment, idle: u32) -> bool {
        if self.used {
            self.used = false;
            self.since = at.second;
            return false;
        }
        match self.freshness(at.now) {
            // Not at once: one that is used each time that the cursor has come by would be made each time.
            Freshness::Fresh => at.second > self.since,
            Freshness::Learned => at.second.saturating_sub(self.since) >= idle,
            Freshness::InUse => {
                self.since = at.second;
                false
            }
        }
    }

    fn freshness(&mut self, now: Instant) -> Freshness {
        // A request or a handle that holds it may be about to use it. One that has let go of it did
        // what it does to the layer before.
        let Some(entry) = Arc::get_mut(&mut self.entry) else {
            return Freshness::InUse;
        };
        // Somebody else's request asks. It does not pay for a layer that cannot tell, which stays.
        let freshness = catch_unwind(AssertUnwindSafe(|| entry.layer.freshness(now)));
        freshness.unwrap_or(Freshness::InUse)
    }
}
