use std::time::Duration;

/// What a response says about one quota of the service.
///
/// Only what the response said is there. `remaining` more than zero is not a permission: responses
/// arrive out of order, and others may use the same quota.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// What the service calls it: `burst`, `tokens`.
    pub name: Option<Box<str>>,
    /// How much there is in one window, or at once; saturates.
    pub limit: Option<u64>,
    /// How much of it is left: rounded down, since half a request cannot be sent. Saturates.
    pub remaining: Option<u64>,
    /// How long from the reception of the response until there is more: zero if that moment is
    /// past, [`Duration::MAX`] if it is beyond reckoning.
    ///
    /// For some services this is when the quota is whole again, and some of it is there long before:
    /// see [`Profile`](crate::Profile).
    pub reset: Option<Duration>,
    /// The span of time over which the limit counts.
    pub window: Option<Duration>,
    /// What it counts.
    pub unit: Unit,
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// Requests.
    #[default]
    Requests,
    /// Requests at one time: a limit for a gate.
    ConcurrentRequests,
    /// Bytes of content.
    ContentBytes,
    /// Tokens of a language model.
    Tokens,
    /// Something else.
    Other,
}

impl Quota {
    /// Nothing is left of it. A quota that does not say what remains is not spent.
    pub fn is_spent(&self) -> bool {
        self.remaining == Some(0)
    }

    /// The share that is left, `0.0` if it is spent; unknown counts as whole.
    pub(super) fn share(&self) -> f64 {
        match (self.remaining, self.limit) {
            (Some(0), _) => 0.0,
            (Some(remaining), Some(limit)) => remaining as f64 / limit as f64,
            _ => 1.0,
        }
    }

    pub(super) fn says_something(&self) -> bool {
        self.limit.is_some() || self.remaining.is_some() || self.reset.is_some()
    }
}

impl Unit {
    /// By a name such as `input-tokens`.
    pub(super) fn of(name: &str) -> Self {
        if name.contains("token") {
            Self::Tokens
        } else if name.contains("request") {
            Self::Requests
        } else {
            Self::Other
        }
    }
}
