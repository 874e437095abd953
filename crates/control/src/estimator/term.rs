use std::fmt::Debug;

use tidegate_core::Reason;

use super::round::{Round, Share};

/// What a law does about failures: the one point where the laws on this estimator differ.
pub(crate) trait Term: Debug {
    /// The share of [`failed`](Self::failed) that is no cause to act, without noise.
    fn share(&self) -> f64;

    /// What counts as failed in a round at limit `n`.
    fn failed(&self, n: f64, round: &Round) -> Share;

    /// What the failures of a round ask for at limit `n`. `accepted`: the share that is no cause to
    /// act; `overloaded`: rule 4 would cut.
    fn judge(&mut self, n: f64, round: &Round, accepted: f64, overloaded: bool) -> Verdict;
}

/// What failures ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// Nothing: the queue alone decides.
    Free,
    /// A move of at most so much.
    AtMost(f64, Reason),
    /// This limit, and for a while no growth back to the one before.
    Cut(f64, Reason),
}
