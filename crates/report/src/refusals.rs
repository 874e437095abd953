use std::fmt;

use tidegate_core::RefusedReason;

/// How many were refused unsent, by why.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refusals([u32; RefusedReason::NAMES.len()]);

impl Refusals {
    pub(crate) fn count(&mut self, reason: &RefusedReason) {
        let count = &mut self.0[reason.index()];
        *count = count.saturating_add(1);
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
        let all = RefusedReason::NAMES.into_iter().zip(self.0);
        let there = all.filter(|(_, count)| *count > 0);
        for (index, (why, count)) in there.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{count} {}", why.replace('_', " "))?;
        }
        Ok(())
    }
}
