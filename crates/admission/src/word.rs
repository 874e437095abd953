//! What the fast path reads and writes: one word.

/// ```text
///  63    62     61 … 32   31 … 0
/// slow  paced    limit    in flight
/// ```
///
/// A limit of 0: there is none, and nobody is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

/// Everybody goes through the queue's lock.
pub(crate) const SLOW: u64 = 1 << 63;
/// Entering takes tokens too.
pub(crate) const PACED: u64 = 1 << 62;
/// One more in flight.
pub(crate) const ONE: u64 = 1;

const LIMIT_SHIFT: u32 = 32;
const LIMIT_BITS: u64 = (1 << 30) - 1;
const IN_FLIGHT_BITS: u64 = (1 << 32) - 1;

/// The highest limit.
pub(crate) const MAX_LIMIT: usize = LIMIT_BITS as usize;

impl Word {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Self::bits(limit))
    }

    /// Without a limit: those inside are not counted.
    pub(crate) fn uncounted() -> Self {
        Self(0)
    }

    /// Whether those inside are counted.
    #[inline]
    pub(crate) fn counts(self) -> bool {
        self.0 >> LIMIT_SHIFT & LIMIT_BITS != 0
    }

    #[inline]
    pub(crate) fn is_slow(self) -> bool {
        self.0 & SLOW != 0
    }

    #[inline]
    pub(crate) fn is_paced(self) -> bool {
        self.0 & PACED != 0
    }

    /// `usize::MAX` where there is none.
    #[inline]
    pub(crate) fn limit(self) -> usize {
        match self.0 >> LIMIT_SHIFT & LIMIT_BITS {
            0 => usize::MAX,
            limit => limit as usize,
        }
    }

    #[inline]
    pub(crate) fn in_flight(self) -> usize {
        (self.0 & IN_FLIGHT_BITS) as usize
    }

    /// Whether one more may be counted.
    #[inline]
    pub(crate) fn has_room(self) -> bool {
        self.in_flight() < (self.0 >> LIMIT_SHIFT & LIMIT_BITS) as usize
    }

    /// Whether there is a limit that has been reached.
    pub(crate) fn is_full(self) -> bool {
        self.counts() && !self.has_room()
    }

    /// A limit of 0 is taken as 1, one above [`MAX_LIMIT`] as that. Where there is none, none comes.
    pub(crate) fn with_limit(self, limit: usize) -> Self {
        if self.counts() {
            Self(self.0 & !(LIMIT_BITS << LIMIT_SHIFT) | Self::bits(limit))
        } else {
            self
        }
    }

    fn bits(limit: usize) -> u64 {
        (limit.clamp(1, MAX_LIMIT) as u64) << LIMIT_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_word_do_not_touch() {
        for limit in [1, 2, 1_000_000, MAX_LIMIT] {
            let word = Word(Word::new(limit).0 | SLOW | PACED | 7);
            assert_eq!((word.limit(), word.in_flight()), (limit, 7));
            assert!(word.is_slow() && word.is_paced());
            assert_eq!(word.with_limit(3).in_flight(), 7);
        }
    }

    #[test]
    fn what_is_not_counted_never_is() {
        let word = Word::uncounted().with_limit(3);
        assert!(!word.counts() && !word.has_room());
        assert_eq!((word.limit(), word.in_flight()), (usize::MAX, 0));
    }

    #[test]
    fn a_limit_stays_within_what_a_word_holds() {
        assert_eq!(Word::new(0).limit(), 1);
        assert_eq!(Word::new(usize::MAX).limit(), MAX_LIMIT);
    }
}
