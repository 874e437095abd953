use std::ops::RangeInclusive;

use http::StatusCode;

/// Some statuses: `429`, `StatusCode::TOO_MANY_REQUESTS`, `[403, 420]` or `520..=529`. Not to be
/// implemented elsewhere.
pub trait Statuses: sealed::Sealed {
    /// All of them.
    fn ranges(self) -> impl Iterator<Item = RangeInclusive<u16>>;
}

mod sealed {
    use super::{RangeInclusive, StatusCode};

    pub trait Sealed {}
    impl Sealed for u16 {}
    impl Sealed for StatusCode {}
    impl<const N: usize> Sealed for [u16; N] {}
    impl Sealed for RangeInclusive<u16> {}
}

impl Statuses for u16 {
    fn ranges(self) -> impl Iterator<Item = RangeInclusive<u16>> {
        [self].ranges()
    }
}

impl Statuses for StatusCode {
    fn ranges(self) -> impl Iterator<Item = RangeInclusive<u16>> {
        self.as_u16().ranges()
    }
}

impl<const N: usize> Statuses for [u16; N] {
    fn ranges(self) -> impl Iterator<Item = RangeInclusive<u16>> {
        self.into_iter().map(|status| status..=status)
    }
}

impl Statuses for RangeInclusive<u16> {
    fn ranges(self) -> impl Iterator<Item = Self> {
        [self].into_iter()
    }
}
