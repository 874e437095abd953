use tidegate_core::Snapshot;

use crate::names::{self, DoorNames};

/// What a door is, which is part of the names of its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has a limit.
    Gate,
    /// It has none.
    Rate,
}

impl Kind {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        if snapshot.limit == usize::MAX {
            Self::Rate
        } else {
            Self::Gate
        }
    }

    pub(crate) fn names(self) -> &'static DoorNames {
        match self {
            Self::Gate => &names::GATE,
            Self::Rate => &names::RATE,
        }
    }
}
