use std::time::Duration;

use tidegate_core::Outcome;

/// What an answer says: its outcome, and how long the service asked us to stay away.
///
/// An [`Outcome`] is a verdict without a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Verdict {
    /// What it says about the service.
    pub outcome: Outcome,
    /// How long to stay away, if the service said so.
    pub retry_after: Option<Duration>,
}

impl Verdict {
    /// The same, with how long to stay away.
    pub fn retry_after(self, retry_after: Option<Duration>) -> Self {
        Self {
            retry_after,
            ..self
        }
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            retry_after: None,
        }
    }
}
