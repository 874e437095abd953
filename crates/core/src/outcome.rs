/// What one request says about the service that answered it.
///
/// ```
/// use tidegate_core::{Cause, Outcome};
///
/// let outcome = Outcome::Overload(Cause::Throttled);
/// assert!(outcome.is_overload());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was served.
    Success,
    /// The service asks for less: slow down.
    Overload(Cause),
    /// It is broken, and not for lack of capacity.
    Failure,
    /// It says nothing about the service: our own refusals, a caller's mistake such as 404, a
    /// request that its caller gave up early.
    Ignored,
}

impl Outcome {
    /// Whether the service asked for less.
    pub fn is_overload(self) -> bool {
        matches!(self, Self::Overload(_))
    }

    /// In a word, for labels and fields: `success`, that of [the cause](Cause::name), `failure`, `ignored`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Overload(cause) => cause.name(),
            Self::Failure => "failure",
            Self::Ignored => "ignored",
        }
    }

    /// Whether it is [`Outcome::Success`].
    pub fn is_success(self) -> bool {
        self == Self::Success
    }
}

/// How an overload showed itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Told to slow down, such as by 429.
    Throttled,
    /// Told that there is no capacity, such as by 503.
    Unavailable,
    /// No answer in time, whether ours ran out or a gateway's (408, 504).
    TimedOut,
    /// The connection was refused or reset.
    Connection,
}

impl Cause {
    /// In a word, for labels and fields: `throttled`, `unavailable`, `timed_out`, `connection`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Connection => "connection",
        }
    }
}
