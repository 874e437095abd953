//! The atomics and the lock that [`Admission`](crate::admission::Admission) is generic over, so
//! that model checkers run the shipped code.

use std::fmt;
use std::ops::DerefMut;
use std::sync::atomic::Ordering;

/// One family of synchronisation primitives.
pub(crate) trait Primitives: 'static {
    type Word: AtomicWord;
    type Lock<T: Send>: Lock<T>;
}

/// A 64-bit atomic.
pub(crate) trait AtomicWord: fmt::Debug + Send + Sync {
    fn new(value: u64) -> Self;
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn compare_exchange_weak(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64>;
    fn fetch_sub(&self, value: u64, order: Ordering) -> u64;
    fn fetch_or(&self, value: u64, order: Ordering) -> u64;
    fn fetch_and(&self, value: u64, order: Ordering) -> u64;
}

/// A lock that a panicking holder does not poison: every critical section leaves a valid state.
pub(crate) trait Lock<T>: Send + Sync {
    type Guard<'a>: DerefMut<Target = T>
    where
        Self: 'a;
    fn new(value: T) -> Self;
    fn lock(&self) -> Self::Guard<'_>;
}

macro_rules! primitives {
    ($name:ident, $($path:ident)::+) => {
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Primitives for $name {
            type Word = $($path)::+::atomic::AtomicU64;
            type Lock<T: Send> = $($path)::+::Mutex<T>;
        }

        impl AtomicWord for $($path)::+::atomic::AtomicU64 {
            #[inline]
            fn new(value: u64) -> Self {
                Self::new(value)
            }
            #[inline]
            fn load(&self, order: Ordering) -> u64 {
                self.load(order)
            }
            #[inline]
            fn store(&self, value: u64, order: Ordering) {
                self.store(value, order);
            }
            #[inline]
            fn compare_exchange_weak(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
                failure: Ordering,
            ) -> Result<u64, u64> {
                self.compare_exchange_weak(current, new, success, failure)
            }
            #[inline]
            fn fetch_sub(&self, value: u64, order: Ordering) -> u64 {
                self.fetch_sub(value, order)
            }
            #[inline]
            fn fetch_or(&self, value: u64, order: Ordering) -> u64 {
                self.fetch_or(value, order)
            }
            #[inline]
            fn fetch_and(&self, value: u64, order: Ordering) -> u64 {
                self.fetch_and(value, order)
            }
        }

        impl<T: Send> Lock<T> for $($path)::+::Mutex<T> {
            type Guard<'a> = $($path)::+::MutexGuard<'a, T> where T: 'a;
            #[inline]
            fn new(value: T) -> Self {
                Self::new(value)
            }
            #[inline]
            fn lock(&self) -> Self::Guard<'_> {
                self.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
            }
        }
    };
}

primitives!(Std, std::sync);
#[cfg(test)]
primitives!(Loom, loom::sync);
#[cfg(test)]
primitives!(Shuttle, shuttle::sync);
