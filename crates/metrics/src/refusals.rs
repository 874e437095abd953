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
        let named = NAMES.iter().position(|name| *name == reason.name());
        let index = named.unwrap_or(NAMES.len() - 1);
        self.0[index].increment(1);
    }
}
