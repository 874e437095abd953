use metrics::{Counter, Label};
use tidegate_core::RefusedReason;

use crate::names::REASON;
use crate::register;

/// A counter for each reason.
#[derive(Debug)]
pub(crate) struct Refusals([Counter; RefusedReason::NAMES.len()]);

impl Refusals {
    pub(crate) fn new(name: &'static str, labels: &[Label]) -> Self {
        let counter = |reason| register::counter(name, labels, Some((REASON, reason)));
        Self(RefusedReason::NAMES.map(counter))
    }

    pub(crate) fn add(&self, reason: &RefusedReason) {
        self.0[reason.index()].increment(1);
    }
}
