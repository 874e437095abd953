use std::time::{Duration, Instant};

use super::Quota;

/// What is left of a quota, from responses that arrive in any order.
///
/// With several requests in flight a later response may tell of an earlier moment. So within one
/// window what remains never rises; a reset that is clearly later begins a new window, and one that
/// is clearly earlier is of a window that has ended, and ignored. Where the reset moves along with the
/// clock, as that of a bucket does, a new window begins every two seconds.
///
/// Requests in flight may or may not be counted in it: whoever sends takes them off.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tidegate_classify::{Quota, Remaining};
///
/// let says = |remaining| Quota {
///     remaining: Some(remaining),
///     reset: Some(Duration::from_secs(60)),
///     ..Quota::default()
/// };
/// let now = Instant::now();
/// let mut remaining = Remaining::default();
/// remaining.observe(now, &says(28));
/// remaining.observe(now, &says(29));
/// assert_eq!(remaining.at(now), Some(28));
/// assert_eq!(remaining.at(now + Duration::from_secs(60)), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Remaining {
    window: Option<Window>,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    remaining: u64,
    /// As it was told first. `None`: beyond reckoning.
    ends: Option<Instant>,
    /// As it was told latest of all.
    over: Option<Instant>,
}

/// Responses of one window agree on its end up to this much: both a reset and a `Date` may be cut to
/// whole seconds.
const SAME: Duration = Duration::from_secs(2);

impl Remaining {
    /// A response that says this about the quota was received at `now`. It needs both what remains
    /// and a reset; without the latter, windows cannot be told apart.
    pub fn observe(&mut self, now: Instant, quota: &Quota) {
        let (Some(remaining), Some(reset)) = (quota.remaining, quota.reset) else {
            return;
        };
        let ends = now.checked_add(reset);
        let said = Window {
            remaining,
            ends,
            over: ends,
        };
        self.window = match self.running(now) {
            Some(window) if said.is_after(window) => Some(said),
            Some(window) if window.is_after(said) => Some(window),
            Some(window) => Some(window.joined(said)),
            None => Some(said),
        };
    }

    /// What is left at `now`; `None` if nobody knows, since the last window that was told of is over.
    pub fn at(&self, now: Instant) -> Option<u64> {
        self.running(now).map(|window| window.remaining)
    }

    fn running(&self, now: Instant) -> Option<Window> {
        self.window.filter(|window| !window.is_over(now))
    }
}

impl Window {
    fn is_over(self, now: Instant) -> bool {
        self.over.is_some_and(|over| over <= now)
    }

    /// Clearly after.
    fn is_after(self, other: Self) -> bool {
        match (self.ends, other.ends) {
            (Some(ends), Some(other)) => ends.saturating_duration_since(other) > SAME,
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }

    /// Of two that tell of the same window.
    fn joined(self, other: Self) -> Self {
        Self {
            remaining: self.remaining.min(other.remaining),
            ends: self.ends,
            over: self.over.max(other.over),
        }
    }
}
