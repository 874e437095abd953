use metrics::{Counter, Label};
use tidegate_core::RefusedReason;

use crate::names::REASON;
use crate::register;

/// A counter for each reason.
#[derive(Debug)]
pub(crate) struct Refusals([Counter; NAMES.len()]);

const NAMES: [&str; 7] = [
    "queue_full",
    "wait_too_long",
    "waited_too_long",
    "paused",
    "no_room",
    "closed",
    "_OTHER",
];

impl Refusals {
    pub(crate) fn new(name: &'static str, labels: &[Label]) -> Self {
        Self(NAMES.map(|reason| register::counter(name, labels, Some((REASON, reason)))))
    }

    pub(crate) fn add(&self, reason: &RefusedReason) {
        let index = match reason {
            RefusedReason::QueueFull { .. } => 0,
            RefusedReason::WaitTooLong { .. } => 1,
            RefusedReason::WaitedTooLong { .. } => 2,
            RefusedReason::Paused { .. } => 3,
            RefusedReason::NoRoom => 4,
            RefusedReason::Closed => 5,
            _ => 6,
        };
        self.0[index].increment(1);
    }
}
