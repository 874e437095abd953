use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use crate::account::{Account, Terms};
use crate::clock::now;
use crate::level::{LASTS_SECONDS, RETRY};

/// How many retries there may be, as a share of the requests that are none.
///
/// Each original request deposits its share once, however often it is sent; each retry costs one. What
/// is not spent fades: of a deposit 90 % are left after a second, 35 % after ten. Without traffic the
/// reserve remains.
///
/// So `T` seconds of total failure cost at most `share · originals + reserve · (T + 10)` requests more,
/// where `originals` are those of that time and of some ten seconds before.
///
/// Clones are one budget. It takes no lock; a deposit is one compare-and-swap.
///
/// ```
/// use tidegate_core::Units;
/// use tidegate_retry::{Budget, RetryLayer};
///
/// let budget = Budget::new(0.1).reserve(2.0);
/// let retry = RetryLayer::exponential(100.ms()..5.s()).budget(budget.clone());
/// assert_eq!(budget.left(), 20.0); // of the reserve: no request was sent yet
/// # drop(retry);
/// ```
#[derive(Clone)]
pub struct Budget {
    terms: Terms,
    account: Arc<(Account, Origin)>,
}

/// The moment from which a budget counts seconds: its first use.
#[derive(Debug, Default)]
pub(crate) struct Origin(OnceLock<Instant>);

impl Origin {
    pub(crate) fn second(&self, now: Instant) -> u64 {
        let origin = *self.0.get_or_init(|| now);
        now.saturating_duration_since(origin).as_secs()
    }
}

impl Budget {
    /// `share` retries for each request, `0.0..=10.0`; with the default reserve of 10 per second.
    ///
    /// # Panics
    ///
    /// If `share` is outside its range.
    #[track_caller]
    pub fn new(share: f64) -> Self {
        Self::with(Terms::new(share))
    }

    /// How many retries per second there are without any other request, `0.0..=1_000_000.0`. At first,
    /// and after a quiet time, ten seconds of it are there at once. Default 10, as in Finagle.
    ///
    /// # Panics
    ///
    /// If `per_second` is outside its range.
    #[must_use]
    #[track_caller]
    pub fn reserve(self, per_second: f64) -> Self {
        Self::with(self.terms.with_reserve(per_second))
    }

    fn with(terms: Terms) -> Self {
        let account = Arc::new((Account::new(terms), Origin::default()));
        Self { terms, account }
    }

    /// How many retries are left now.
    pub fn left(&self) -> f64 {
        let (account, origin) = &*self.account;
        let second = origin.second(now());
        account.level(self.terms, second).units() as f64 / RETRY as f64
    }

    pub(crate) fn deposit(&self, now: Instant) {
        let (account, origin) = &*self.account;
        account.deposit(self.terms, origin.second(now));
    }

    pub(crate) fn withdraw(&self, now: Instant) -> bool {
        let (account, origin) = &*self.account;
        account.withdraw(self.terms, origin.second(now))
    }

    pub(crate) fn give_back(&self) {
        self.account.0.give_back();
    }
}

/// A share of 0.2 and a reserve of 10 per second: the defaults of Finagle's `RetryBudget`.
impl Default for Budget {
    fn default() -> Self {
        Self::with(Terms::DEFAULT)
    }
}

impl Terms {
    pub(crate) const DEFAULT: Self = Self {
        share: RETRY / 5,
        reserve: 10 * LASTS_SECONDS as u64 * RETRY,
    };

    #[track_caller]
    pub(crate) fn new(share: f64) -> Self {
        assert!(
            (0.0..=10.0).contains(&share),
            "a share of retries is within 0.0..=10.0, not {share}"
        );
        Self {
            share: (share * RETRY as f64).round() as u64,
            ..Self::DEFAULT
        }
    }

    #[track_caller]
    pub(crate) fn with_reserve(self, per_second: f64) -> Self {
        assert!(
            (0.0..=1e6).contains(&per_second),
            "a reserve is within 0.0..=1_000_000.0 per second, not {per_second}"
        );
        Self {
            reserve: (per_second * LASTS_SECONDS * RETRY as f64).round() as u64,
            ..self
        }
    }

    fn fmt(self, f: &mut fmt::DebugStruct<'_, '_>) {
        f.field("share", &(self.share as f64 / RETRY as f64));
        let per_second = self.reserve as f64 / LASTS_SECONDS / RETRY as f64;
        f.field("reserve_per_second", &per_second);
    }

    pub(crate) fn debug(self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let mut debug = f.debug_struct(name);
        self.fmt(&mut debug);
        debug.finish_non_exhaustive()
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms.debug(f, "Budget")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allowed(budget: &Budget, deposits: usize, asked: usize) -> usize {
        (0..deposits).for_each(|_| budget.deposit(now()));
        (0..asked).filter(|_| budget.withdraw(now())).count()
    }

    #[test]
    fn ten_requests_at_six_tenths_allow_six_retries() {
        for (share, expected) in [
            (0.0, 0),
            (0.1, 1),
            (0.3, 3),
            (0.4, 4),
            (0.6, 6),
            (0.75, 7),
            (1.5, 15),
        ] {
            let budget = Budget::new(share).reserve(0.0);
            assert_eq!(allowed(&budget, 10, 100), expected, "{share}");
        }
    }

    proptest! {
        #[test]
        fn a_share_is_never_exceeded_and_missed_by_one_at_most(
            percent in 1..=200usize, deposits in 0..10_000usize,
        ) {
            let budget = Budget::new(percent as f64 / 100.0).reserve(0.0);
            prop_assert_eq!(allowed(&budget, deposits, 3 * deposits), percent * deposits / 100);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn without_traffic_the_reserve_remains() {
        let budget = Budget::default();
        assert_eq!(allowed(&budget, 0, 1_000), 100);
        for _ in 0..10 {
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
            assert_eq!(allowed(&budget, 0, 1_000), 10);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_that_was_not_made_is_given_back() {
        let budget = Budget::new(1.0).reserve(0.0);
        assert_eq!(allowed(&budget, 1, 2), 1);
        budget.give_back();
        assert!(budget.withdraw(now()) && !budget.withdraw(now()));
    }

    #[test]
    fn it_shows_what_it_was_set_to() {
        let shown = format!("{:?}", Budget::new(0.6).reserve(2.5));
        assert_eq!(shown, "Budget { share: 0.6, reserve_per_second: 2.5, .. }");
    }
}
