//! Why one may not enter.

use std::time::Duration;

use tidegate_core::{Refused, RefusedReason};

use crate::inner::Inner;

/// Why, and how long it would have to wait, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    pub(crate) wait: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    NoRoom,
    QueueFull,
    WaitTooLong,
    WaitedTooLong,
    /// A service asked for a longer pause than anybody waits for.
    Paused,
    Closed,
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self { why, wait: None }
    }
}

impl Inner {
    /// What the user is told.
    pub(crate) fn refused(&self, refusal: Refusal) -> Refused {
        let (max_queue, max_wait, longest) = self
            .admission
            .with_queue(|queue| (queue.max_queue, queue.max_wait, queue.cooldown.longest()));
        let max_wait = Duration::from_nanos(max_wait);
        let reason = match refusal.why {
            Why::NoRoom => RefusedReason::NoRoom,
            Why::QueueFull => RefusedReason::QueueFull { max_queue },
            Why::WaitTooLong => RefusedReason::WaitTooLong { max_wait },
            Why::WaitedTooLong => RefusedReason::WaitedTooLong { max_wait },
            Why::Paused => RefusedReason::Paused {
                longest: Duration::from_nanos(longest),
            },
            Why::Closed => RefusedReason::Closed,
        };
        Refused::new(self.by, reason).retry_after(refusal.wait.map(Duration::from_nanos))
    }
}
