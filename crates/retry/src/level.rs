/// What is left of a budget as of a second. No clock, no lock.
///
/// A deposit fades, so that an hour of health does not pay for a storm: per second a tenth of what is
/// more than the reserve goes, and a tenth of what is missing to it comes back.
///
/// ```text
/// units ← reserve + (units − reserve) · 0.9^seconds
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Since the budget was first used; below 2²⁸, which are eight years.
    second: u64,
    /// Below 2³⁶.
    units: u64,
}

/// What one retry costs. Shares are exact to the hundredth of a percent.
pub(crate) const RETRY: u64 = 10_000;

/// How long a deposit lasts: Finagle's `RetryBudget` and tower's `TpsBudget` forget one after 10
/// seconds, of which this is the mean.
pub(crate) const LASTS_SECONDS: f64 = 10.0;

const UNIT_BITS: u32 = 36;
const MOST_UNITS: u64 = (1 << UNIT_BITS) - 1;
const LAST_SECOND: u64 = (1 << (64 - UNIT_BITS)) - 1;

impl Level {
    pub(crate) fn new(units: u64) -> Self {
        Self {
            second: 0,
            units: units.min(MOST_UNITS),
        }
    }

    pub(crate) fn unpack(word: u64) -> Self {
        Self {
            second: word >> UNIT_BITS,
            units: word & MOST_UNITS,
        }
    }

    pub(crate) fn pack(self) -> u64 {
        self.second << UNIT_BITS | self.units
    }

    pub(crate) fn second(self) -> u64 {
        self.second
    }

    pub(crate) fn units(self) -> u64 {
        self.units
    }

    /// As of a later second. An earlier one, from a caller that was overtaken, changes nothing.
    pub(crate) fn at(self, second: u64, reserve: u64) -> Self {
        let second = second.min(LAST_SECOND);
        let Some(passed) = second.checked_sub(self.second).filter(|passed| *passed > 0) else {
            return self;
        };
        let kept = (1.0 - 1.0 / LASTS_SECONDS).powf(passed as f64);
        let reserve = reserve as f64;
        let units = reserve + (self.units as f64 - reserve) * kept;
        Self {
            second,
            units: (units as u64).min(MOST_UNITS),
        }
    }

    pub(crate) fn deposit(self, units: u64) -> Self {
        Self {
            units: (self.units.saturating_add(units)).min(MOST_UNITS),
            ..self
        }
    }

    /// One retry less, if it is there.
    pub(crate) fn withdraw(self) -> Option<Self> {
        let units = self.units.checked_sub(RETRY)?;
        Some(Self { units, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reserve_comes_back_by_a_tenth_of_what_is_missing() {
        let reserve = 100 * RETRY;
        let empty = Level::new(0);
        assert_eq!(empty.at(1, reserve).units(), 10 * RETRY);
        assert_eq!(empty.at(2, reserve).units(), 19 * RETRY);
        assert_eq!(empty.at(1_000, reserve).units(), reserve);
    }

    #[test]
    fn what_is_more_than_the_reserve_fades() {
        let level = Level::new(0).deposit(1_000 * RETRY);
        assert_eq!(level.at(1, 0).units(), 900 * RETRY);
        assert!(level.at(60, 0).units() < 2 * RETRY);
    }

    #[test]
    fn a_second_that_is_past_changes_nothing() {
        let level = Level::new(0).deposit(RETRY).at(9, 0);
        assert_eq!(level.at(3, 100 * RETRY), level);
    }

    proptest! {
        #[test]
        fn a_level_is_the_same_after_it_was_packed(second in 0..LAST_SECOND, units in 0..MOST_UNITS) {
            let level = Level { second, units };
            prop_assert_eq!(Level::unpack(level.pack()), level);
        }

        #[test]
        fn no_time_and_no_deposit_overflow(
            units in 0..=MOST_UNITS, reserve in any::<u64>(), second in any::<u64>(), more in any::<u64>(),
        ) {
            let level = Level::new(units).at(second, reserve).deposit(more);
            prop_assert_eq!(Level::unpack(level.pack()), level);
        }

        /// However the seconds pass, what is spent was deposited or came back.
        #[test]
        fn more_is_never_spent_than_was_deposited_and_came_back(
            steps in prop::collection::vec((0..3u64, 0..30u64, 0..30u64), 0..100),
            share in 0..20_000u64, per_second in 0..20u64,
        ) {
            let reserve = 10 * per_second * RETRY;
            let (mut level, mut second, mut spent, mut deposited) = (Level::new(reserve), 0, 0, 0);
            for (passes, originals, retries) in steps {
                second += passes;
                level = level.at(second, reserve);
                for _ in 0..originals {
                    level = level.deposit(share);
                    deposited += share;
                }
                for _ in 0..retries {
                    if let Some(left) = level.withdraw() {
                        level = left;
                        spent += RETRY;
                    }
                }
            }
            prop_assert!(spent <= deposited + reserve + per_second * RETRY * second);
        }
    }
}
