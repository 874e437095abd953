//! Who hears of those that wait and of those that are refused.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Observer, Refused};

use crate::door::Door;
use crate::inner::Inner;

impl Inner {
    /// One that began to wait `since` then has entered.
    pub(crate) fn tell_wait(&self, since: u64) {
        let now = self.now();
        let (waited, now) = (now.saturating_sub(since), self.instant(now));
        for observer in self.observers.iter() {
            observer.on_wait(now, Duration::from_nanos(waited));
        }
    }

    /// The same for one that was refused, whether it has waited or not.
    pub(crate) fn tell_refused(&self, refused: &Refused, since: Option<u64>) {
        if !self.observers.any() {
            return;
        }
        let now = self.now();
        let waited = Duration::from_nanos(since.map_or(0, |since| now.saturating_sub(since)));
        let now = self.instant(now);
        for observer in self.observers.iter() {
            observer.on_refused(now, refused, waited);
        }
    }
}

impl Door {
    /// Has `observer` hear who had to wait and who was refused, from now on, and of each move of the
    /// limit, of the pace and of a pause by hand: not of those [for a law](Self::by_law), nor of
    /// [further paces](Self::set_pace_of). A request that enters at once costs nothing more.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use std::time::{Duration, Instant};
    /// use tidegate_admission::Door;
    /// use tidegate_core::{Observer, Refused};
    ///
    /// #[derive(Debug, Default)]
    /// struct Count(AtomicU32);
    ///
    /// impl Observer for Count {
    ///     fn on_refused(&self, _: Instant, _: &Refused, _: Duration) {
    ///         self.0.fetch_add(1, Relaxed);
    ///     }
    /// }
    ///
    /// let (door, count) = (Door::new("gate", 1), Arc::new(Count::default()));
    /// door.observe(Arc::clone(&count) as _);
    /// let _inside = door.try_acquire(1);
    /// assert!(door.try_acquire(1).is_err());
    /// assert_eq!(count.0.load(Relaxed), 1);
    /// ```
    pub fn observe(&self, observer: Arc<dyn Observer>) {
        self.0.observers.add(observer);
    }
}
