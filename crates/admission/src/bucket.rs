//! The token bucket, as a moment: when it is full again.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use tidegate_core::{Pace, Start};

use crate::primitives::{AtomicWord, Primitives};

/// A token bucket that one compare-and-swap takes from.
///
/// ```text
/// full     when the bucket is full again (GCRA: the theoretical arrival time)
/// period   time per token
/// depth    burst · period
///
/// take c tokens at now:   full' = max(full, now) + c · period,  allowed if full' ≤ now + depth
/// c above the burst:      allowed once the bucket is full; the rest is a debt
/// ```
///
/// Source: the generic cell rate algorithm, ITU-T I.371 annex A. Times are nanoseconds on the
/// door's clock, good for 36 years.
///
/// `full` shares its word with a version, so that a change of the pace, which rewrites four words,
/// cannot be half seen: an odd version means that a change is under way, and every change makes
/// every compare-and-swap that began before it fail.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Bucket<P: Primitives> {
    full: P::Word,
    /// One token, in whole nanoseconds.
    step: P::Word,
    depth: P::Word,
    /// `f64` bits, nanoseconds.
    period: P::Word,
    burst: P::Word,
}

const VERSION_BITS: u32 = 4;
const VERSION: u64 = (1 << VERSION_BITS) - 1;
/// The last moment that the clock of a bucket knows.
const FOREVER: u64 = u64::MAX >> VERSION_BITS;

/// Why no token was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dry {
    /// There are enough at this moment.
    Until(u64),
    /// The pace is being changed.
    Changing,
}

#[derive(Clone, Copy)]
struct Terms {
    step: u64,
    depth: u64,
    period: f64,
    burst: u32,
}

impl Terms {
    fn of(pace: &Pace) -> Self {
        let period = pace.period_nanos();
        Self {
            step: nanos(period),
            depth: nanos(period * f64::from(pace.bucket())),
            period,
            burst: pace.bucket(),
        }
    }

    fn price(&self, cost: u64) -> u64 {
        match cost {
            1 => self.step,
            _ => nanos(self.period * cost as f64),
        }
    }

    /// When `cost` may be taken, if the bucket is full at `full`.
    fn due(&self, full: u64, cost: u64) -> u64 {
        if cost > u64::from(self.burst) {
            full
        } else {
            (full + self.price(cost)).saturating_sub(self.depth)
        }
    }
}

/// Whole nanoseconds, rounded up, so that a rounded pace is never faster; what is off by less than a
/// thousandth is a rounding error of the division and means the whole number.
fn nanos(exact: f64) -> u64 {
    let whole = exact.round();
    let up = if (exact - whole).abs() < 1e-3 {
        whole
    } else {
        exact.ceil()
    };
    (up as u64).min(FOREVER / 4)
}

impl<P: Primitives> Bucket<P> {
    pub(crate) fn new() -> Self {
        let word = |value| P::Word::new(value);
        Self {
            full: word(0),
            step: word(0),
            depth: word(0),
            period: word(0),
            burst: word(1),
        }
    }

    /// Takes `cost` tokens at `now`, as of `since`: a moment at which they were there, of one that
    /// waited for them and comes late because timers are late; otherwise `now`.
    #[inline]
    pub(crate) fn take(&self, cost: u32, now: u64, since: u64) -> Result<(), Dry> {
        let mut word = self.full.load(Acquire);
        loop {
            let full = Self::stable(word)?;
            let terms = self.terms();
            let due = terms.due(full, u64::from(cost));
            if due > now {
                return Err(Dry::Until(due));
            }
            let full = full.max(since) + terms.price(u64::from(cost));
            let taken = full.min(FOREVER) << VERSION_BITS | word & VERSION;
            // AcqRel: with it a value of the terms that belongs to a later version cannot have been
            // read before a swap that succeeds.
            match self
                .full
                .compare_exchange_weak(word, taken, AcqRel, Acquire)
            {
                Ok(_) => return Ok(()),
                Err(changed) => word = changed,
            }
        }
    }

    /// When `cost` tokens are there for one who stands behind others that cost `ahead`, if nobody
    /// takes any before `from`. Under the queue's lock.
    pub(crate) fn due_behind(&self, ahead: u64, cost: u64, from: u64) -> u64 {
        let terms = self.terms();
        let full = self.full.load(Acquire) >> VERSION_BITS;
        terms
            .due(full.max(from) + terms.price(ahead), cost)
            .max(from)
    }

    /// Takes `cost` tokens whether they are there or not, and returns how far it was from full before.
    /// Under the queue's lock, where nobody takes without it.
    pub(crate) fn charge(&self, cost: u64, now: u64) -> u64 {
        let word = self.full.load(Acquire);
        let full = word >> VERSION_BITS;
        let charged = (full.max(now) + self.terms().price(cost)).min(FOREVER);
        self.full
            .store(charged << VERSION_BITS | word & VERSION, Release);
        full.saturating_sub(now)
    }

    /// Nanoseconds per token.
    pub(crate) fn period(&self) -> f64 {
        self.terms().period
    }

    /// How long it takes to gain that.
    pub(crate) fn price(&self, cost: u32) -> u64 {
        self.terms().price(u64::from(cost))
    }

    /// Gives back what takes so long to gain. Under the queue's lock, where nobody takes without it.
    pub(crate) fn rebate(&self, nanos: u64) {
        let word = self.full.load(Acquire);
        let full = (word >> VERSION_BITS).saturating_sub(nanos);
        self.full
            .store(full << VERSION_BITS | word & VERSION, Release);
    }

    /// Gives back `cost` tokens for which nothing was sent. Under the queue's lock.
    pub(crate) fn give_back(&self, cost: u64) {
        let price = self.terms().price(cost);
        let mut word = self.full.load(Acquire);
        loop {
            let full = (word >> VERSION_BITS).saturating_sub(price);
            let given = full << VERSION_BITS | word & VERSION;
            match self
                .full
                .compare_exchange_weak(word, given, AcqRel, Acquire)
            {
                Ok(_) => return,
                Err(changed) => word = changed,
            }
        }
    }

    /// A bucket at its start level. Under the queue's lock.
    pub(crate) fn start(&self, pace: &Pace, now: u64) {
        let tokens = match pace.start_level() {
            Start::Full => f64::from(pace.bucket()),
            Start::One => 1.0,
            Start::Empty => 0.0,
        };
        self.change(|_, _| (Terms::of(pace), tokens), now);
    }

    /// Another pace for the tokens that are there; debts stay debts. Under the queue's lock.
    pub(crate) fn change_pace(&self, pace: &Pace, now: u64) {
        let change = |terms: Terms, full: u64| {
            let lead = (now + terms.depth) as f64 - full.max(now) as f64;
            let tokens = (lead / terms.period).min(f64::from(pace.bucket()));
            (Terms::of(pace), tokens)
        };
        self.change(change, now);
    }

    fn change(&self, to: impl FnOnce(Terms, u64) -> (Terms, f64), now: u64) {
        let mut word = self.full.load(Acquire);
        while let Err(changed) = self
            .full
            .compare_exchange_weak(word, word ^ 1, AcqRel, Acquire)
        {
            word = changed;
        }
        let (terms, tokens) = to(self.terms(), word >> VERSION_BITS);
        self.step.store(terms.step, Relaxed);
        self.depth.store(terms.depth, Relaxed);
        self.period.store(terms.period.to_bits(), Relaxed);
        self.burst.store(u64::from(terms.burst), Relaxed);
        let full = if tokens <= 0.0 {
            (now + terms.depth).saturating_add(nanos(-tokens * terms.period))
        } else {
            (now + terms.depth).saturating_sub(nanos(tokens * terms.period))
        };
        let version = word.wrapping_add(2) & VERSION;
        self.full
            .store(full.min(FOREVER) << VERSION_BITS | version, Release);
    }

    #[inline]
    fn stable(word: u64) -> Result<u64, Dry> {
        if word & 1 == 0 {
            Ok(word >> VERSION_BITS)
        } else {
            Err(Dry::Changing)
        }
    }

    #[inline]
    fn terms(&self) -> Terms {
        Terms {
            step: self.step.load(Relaxed),
            depth: self.depth.load(Relaxed),
            period: f64::from_bits(self.period.load(Relaxed)),
            burst: self.burst.load(Relaxed) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::{per, per_minute, per_second};

    use super::*;
    use crate::primitives::Std;

    const MS: u64 = 1_000_000;

    fn bucket(pace: Pace) -> Bucket<Std> {
        let bucket = Bucket::new();
        bucket.start(&pace, 0);
        bucket
    }

    fn take(bucket: &Bucket<Std>, cost: u32, now: u64) -> Result<(), Dry> {
        bucket.take(cost, now, now)
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let bucket = bucket(per_second(50.0).burst(3));
        for _ in 0..3 {
            assert_eq!(take(&bucket, 1, 0), Ok(()));
        }
        assert_eq!(take(&bucket, 1, 0), Err(Dry::Until(20 * MS)));
        assert_eq!(take(&bucket, 1, 20 * MS - 1), Err(Dry::Until(20 * MS)));
        assert_eq!(take(&bucket, 1, 20 * MS), Ok(()));
    }

    #[test]
    fn ten_idle_years_fill_a_bucket_and_no_more() {
        let bucket = bucket(per_second(1.0).burst(10));
        let years = Duration::from_secs(10 * 365 * 86_400).as_nanos() as u64;
        for _ in 0..10 {
            assert_eq!(take(&bucket, 1, years), Ok(()));
        }
        assert_eq!(take(&bucket, 1, years), Err(Dry::Until(years + 1_000 * MS)));
    }

    #[test]
    fn a_cost_above_the_burst_goes_when_the_bucket_is_full_and_leaves_a_debt() {
        let bucket = bucket(per_second(10.0).burst(3));
        take(&bucket, 1, 0).unwrap();
        assert_eq!(take(&bucket, 30, 0), Err(Dry::Until(100 * MS)));
        assert_eq!(take(&bucket, 30, 100 * MS), Ok(()));
        assert_eq!(bucket.due_behind(0, 1, 0), 2_900 * MS);
        bucket.give_back(30);
        assert_eq!(take(&bucket, 3, 100 * MS), Ok(()));
    }

    #[test]
    fn the_largest_cost_at_the_slowest_pace_does_not_overflow() {
        let bucket = bucket(per(1.0, Duration::from_secs(30 * 86_400)));
        assert_eq!(take(&bucket, u32::MAX, 0), Ok(()));
        assert_eq!(take(&bucket, u32::MAX, 0), Err(Dry::Until(FOREVER / 4)));
        take(&bucket, u32::MAX, FOREVER / 4).unwrap();
    }

    #[test]
    fn a_change_of_pace_keeps_the_tokens_and_the_debts() {
        let bucket = bucket(per_second(10.0).burst(4));
        take(&bucket, 3, 0).unwrap();
        bucket.change_pace(&per_second(1.0).burst(4), 0);
        assert_eq!(bucket.due_behind(0, 1, 0), 0);
        assert_eq!(bucket.due_behind(0, 2, 0), 1_000 * MS);
        take(&bucket, 1, 0).unwrap();
        bucket.change_pace(&per_second(100.0).burst(1), 0);
        assert_eq!(bucket.due_behind(0, 1, 0), 10 * MS);
    }

    #[test]
    fn a_minute_of_five_hundred_is_a_whole_number_of_nanoseconds() {
        assert_eq!(Terms::of(&per_minute(500.0)).step, 120 * MS);
        assert_eq!(Terms::of(&per_second(3.0)).step, 333_333_334);
    }

    #[test]
    fn a_start_level_is_full_one_or_empty() {
        let pace = per_second(10.0).burst(5);
        for (start, at_once) in [(Start::Full, 5), (Start::One, 1), (Start::Empty, 0)] {
            let bucket = bucket(pace.start(start));
            let taken = (0..9).take_while(|_| take(&bucket, 1, 0).is_ok()).count();
            assert_eq!(taken, at_once);
            assert_eq!(bucket.due_behind(0, 1, 0), 100 * MS);
        }
    }
}
