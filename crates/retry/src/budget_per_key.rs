use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use crate::account::{Account, Terms};
use crate::budget::Origin;
use crate::budget_for::sealed::Sealed;

/// A budget of its own for each key of the requests, so that a host that is down does not spend the
/// retries of the others.
///
/// It has a place for 4,096 keys, which is 64 KiB; one that has not been seen for a minute makes room for
/// another, and by then its budget would have been as at first. Where more keys are in use than have
/// room, some share a budget. It takes no lock. Clones are the same budgets.
///
/// ```
/// use tidegate_core::Units;
/// use tidegate_retry::{BudgetPerKey, RetryLayer};
///
/// let per_host = BudgetPerKey::new(0.2, |request: &http::Request<String>| {
///     request.uri().host().map(str::to_owned)
/// });
/// let retry = RetryLayer::exponential(100.ms()..5.s()).budget(per_host);
/// # drop(retry);
/// ```
pub struct BudgetPerKey<F> {
    key: F,
    terms: Terms,
    table: Arc<Table>,
}

#[derive(Debug)]
struct Table {
    places: Box<[Place]>,
    hasher: RandomState,
    origin: Origin,
}

/// One cache line holds four.
#[derive(Debug)]
struct Place {
    /// The hash of the key it belongs to; 0 while it is free.
    tag: AtomicU64,
    account: Account,
}

const PLACES: usize = 4_096;

/// How many places a key may be in.
const TRIES: usize = 8;

/// After which of the last deposit 0.9⁶⁰ = 0.2 % are left.
const IDLE_SECONDS: u64 = 60;

impl<F> BudgetPerKey<F> {
    /// `share` retries for each request of a key, `0.0..=10.0`, and a reserve of 10 per second for each
    /// key. `key` is called once for each request.
    ///
    /// # Panics
    ///
    /// If `share` is outside its range.
    #[track_caller]
    pub fn new(share: f64, key: F) -> Self {
        Self::with(Terms::new(share), key)
    }

    /// How many retries per second each key has without any other request: see
    /// [`Budget::reserve`](crate::Budget::reserve).
    ///
    /// # Panics
    ///
    /// If `per_second` is outside `0.0..=1_000_000.0`.
    #[must_use]
    #[track_caller]
    pub fn reserve(self, per_second: f64) -> Self {
        Self::with(self.terms.with_reserve(per_second), self.key)
    }

    fn with(terms: Terms, key: F) -> Self {
        let place = || Place {
            tag: AtomicU64::new(0),
            account: Account::new(terms),
        };
        let table = Table {
            places: std::iter::repeat_with(place).take(PLACES).collect(),
            hasher: RandomState::new(),
            origin: Origin::default(),
        };
        Self {
            key,
            terms,
            table: Arc::new(table),
        }
    }
}

impl Table {
    /// The place of a key, taken now if it has none.
    fn find(&self, key: impl Hash, second: u64) -> usize {
        let tag = self.hasher.hash_one(key).max(1);
        let first = tag as usize % PLACES;
        let tries = (first..first + TRIES).map(|place| place % PLACES);
        let free = |place: usize| {
            let Place { tag, account } = &self.places[place];
            let tag = tag.load(Ordering::Relaxed);
            let is_idle = || account.last().second() + IDLE_SECONDS <= second;
            (tag == 0 || is_idle()).then_some(tag)
        };
        tries
            .clone()
            .find(|&place| self.places[place].tag.load(Ordering::Relaxed) == tag)
            .or_else(|| {
                tries
                    .clone()
                    .find(|&place| free(place).is_some_and(|was| self.take(place, was, tag)))
            })
            .unwrap_or(first)
    }

    /// Whether the place is this key's now.
    fn take(&self, place: usize, was: u64, tag: u64) -> bool {
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let taken = self.places[place]
            .tag
            .compare_exchange(was, tag, success, failure);
        taken.is_ok() || taken == Err(tag)
    }
}

impl<F, K, Request> Sealed<Request> for BudgetPerKey<F>
where
    F: Fn(&Request) -> K,
    K: Hash,
{
    fn find(&self, request: &Request, now: Instant) -> usize {
        let second = self.table.origin.second(now);
        self.table.find((self.key)(request), second)
    }

    fn deposit(&self, which: usize, now: Instant) {
        let second = self.table.origin.second(now);
        self.table.places[which].account.deposit(self.terms, second);
    }

    fn withdraw(&self, which: usize, now: Instant) -> bool {
        let second = self.table.origin.second(now);
        self.table.places[which]
            .account
            .withdraw(self.terms, second)
    }

    fn give_back(&self, which: usize) {
        self.table.places[which].account.give_back();
    }
}

impl<F: Clone> Clone for BudgetPerKey<F> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            terms: self.terms,
            table: Arc::clone(&self.table),
        }
    }
}

impl<F> fmt::Debug for BudgetPerKey<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms.debug(f, "BudgetPerKey")
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::Units;

    use super::*;
    use crate::clock::now;

    fn by_itself() -> BudgetPerKey<impl Fn(&u32) -> u32> {
        BudgetPerKey::new(0.5, |request: &u32| *request).reserve(0.0)
    }

    #[test]
    fn each_key_spends_its_own() {
        let budgets = by_itself();
        let places: Vec<_> = (0..100).map(|key| budgets.find(&key, now())).collect();
        for &at in &places {
            budgets.deposit(at, now());
            budgets.deposit(at, now());
        }
        for (key, at) in (0..).zip(places) {
            assert_eq!(budgets.find(&key, now()), at);
            assert!(budgets.withdraw(at, now()), "{key}");
            assert!(!budgets.withdraw(at, now()), "{key}");
        }
    }

    #[test]
    fn more_keys_than_have_room_share() {
        let budgets = by_itself();
        let now = now();
        for key in 0..1_000_000 {
            let at = budgets.find(&key, now);
            budgets.deposit(at, now);
            assert!(at < PLACES);
        }
    }

    #[test]
    fn a_key_that_was_not_seen_for_a_minute_makes_room() {
        let budgets = by_itself();
        let start = now();
        let fill = |keys: std::ops::Range<u32>, now| {
            for key in keys {
                let at = budgets.find(&key, now);
                budgets.deposit(at, now);
            }
        };
        fill(0..100_000, start);
        let tagged = |key, now| {
            let at = budgets.find(&key, now);
            let hash = budgets.table.hasher.hash_one(key);
            budgets.table.places[at].tag.load(Ordering::Relaxed) == hash
        };
        let later = 100_000..100_100u32;
        assert!(later.clone().all(|key| !tagged(key, start + 59.s())));
        assert!(later.clone().all(|key| tagged(key, start + 60.s())));
        // What the key before it left has faded.
        let at = budgets.find(&100_000, start + 60.s());
        assert!(!budgets.withdraw(at, start + 60.s()));
    }
}
