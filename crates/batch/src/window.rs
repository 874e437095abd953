use std::sync::Arc;

use tidegate_core::{Snapshot, Steer};

/// How many tries there may be at once.
#[derive(Debug)]
pub(crate) struct Window {
    /// Whatever the limit.
    pub(crate) most: usize,
    /// Beyond the limit.
    pub(crate) ahead: usize,
    pub(crate) steer: Option<Arc<dyn Steer>>,
}

/// Beyond a limit, so that it is never idle while the next request is on its way.
const AHEAD: usize = 8;

impl Window {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            ahead: AHEAD,
            steer: None,
        }
    }

    /// `None` when the layer is closed: nothing would be sent any more.
    pub(crate) fn size(&self) -> Option<usize> {
        let Some(snapshot) = self.snapshot() else {
            return Some(self.most);
        };
        let size = snapshot.limit.max(1).saturating_add(self.ahead);
        (!snapshot.closed).then_some(size.min(self.most))
    }

    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.steer.as_ref().map(Steer::snapshot)
    }
}
