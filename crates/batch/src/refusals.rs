use std::mem;

use tidegate_core::{Refused, RefusedReason};

/// How often one layer refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusals {
    /// Which layer: `"gate"`, `"rate"`, …
    pub by: &'static str,
    /// Why, in the words of the first of them.
    pub reason: RefusedReason,
    /// How many tries.
    pub tries: usize,
}

/// Counts one more. They are told apart by layer and kind of reason, so that their number is bounded.
pub(crate) fn count(all: &mut Vec<Refusals>, refused: &Refused) {
    let same = |known: &&mut Refusals| {
        known.by == refused.by
            && mem::discriminant(&known.reason) == mem::discriminant(&refused.reason)
    };
    if let Some(known) = all.iter_mut().find(same) {
        known.tries += 1;
        return;
    }
    all.push(Refusals {
        by: refused.by,
        reason: refused.reason.clone(),
        tries: 1,
    });
}
