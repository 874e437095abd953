use std::time::{Duration, SystemTime};

use http::HeaderMap;
use tidegate_core::Outcome;

use crate::hints::retry_after;

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

    /// With the wait that the headers ask for, unless it has one or is a success.
    #[expect(
        clippy::disallowed_methods,
        reason = "a date is one of the wall clock; it is read only if the response has none of its own"
    )]
    pub(crate) fn hinted_by(self, headers: &HeaderMap) -> Self {
        match self.retry_after {
            None if !self.outcome.is_success() => {
                self.retry_after(retry_after(headers, SystemTime::now))
            }
            _ => self,
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
