use std::fmt;

use tidegate_core::RefusedReason;

/// Why a door said no, and what that is called.
const WHY: [&str; 7] = [
    "queue full",
    "would wait too long",
    "waited too long",
    "paused",
    "no room",
    "closed",
    "other",
];

/// How many were refused unsent, by why.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusals([u32; WHY.len()]);

impl Refusals {
    pub(crate) fn count(&mut self, reason: &RefusedReason) {
        let index = match reason {
            RefusedReason::QueueFull { .. } => 0,
            RefusedReason::WaitTooLong { .. } => 1,
            RefusedReason::WaitedTooLong { .. } => 2,
            RefusedReason::Paused { .. } => 3,
            RefusedReason::NoRoom => 4,
            RefusedReason::Closed => 5,
            _ => 6,
        };
        self.0[index] = self.0[index].saturating_add(1);
    }

    pub(crate) fn add(&mut self, others: &Self) {
        for (count, other) in self.0.iter_mut().zip(others.0) {
            *count = count.saturating_add(other);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }
}

/// `3 queue full, 1 closed`
impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = WHY.into_iter().zip(self.0).filter(|(_, count)| *count > 0);
        for (index, (why, count)) in there.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{count} {why}")?;
        }
        Ok(())
    }
}
