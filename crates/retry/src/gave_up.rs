use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tidegate_core::{Error, Refused};

use crate::RetryResponse;

/// Why a failure was the last answer to a request.
///
/// Where that answer is a response, the caller gets the response, and this is in its extensions: see
/// [`of`](Self::of). Where it is an error, this is the error, with that one as its source: see
/// [`Error::find`](tidegate_core::Error::find). This is the error too where the response was read and let
/// go, before it came out that no attempt follows it: then `status` and `body` are what is left of it.
///
/// [`Error::refused`](tidegate_core::Error::refused) finds nothing in it once something was sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GaveUp {
    /// Why it was not sent again.
    pub reason: GaveUpReason,
    /// How often it was sent. What a layer of ours refused, or what waited in one until its time was
    /// over, is not counted.
    pub attempts: u32,
    /// When to try again, if the service said so in its last answer, or who refused to send the next one.
    pub retry_after: Option<Duration>,
    /// Of the last response, if there was one.
    pub status: Option<StatusCode>,
    /// What was read of the body of the last response, up to 64 KiB, where the caller does not get that
    /// response; otherwise empty.
    pub body: Bytes,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Why a request was not sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GaveUpReason {
    /// It was sent as often as it may be.
    Attempts {
        /// How often it may be sent.
        attempts: u32,
    },
    /// The next attempt would have come too late.
    Deadline {
        /// How long all attempts and waits may take.
        deadline: Duration,
    },
    /// Others have spent the budget.
    Budget,
    /// The service asked for a longer wait than is worth waiting.
    HintTooLong {
        /// The longest wait.
        max_hint: Duration,
    },
    /// It may have been processed, and doing it twice may do harm.
    MayBeProcessed,
    /// Its body was a stream that can be read only once.
    BodyNotReplayable,
    /// The answer says that the quota is spent, rather than that there were too many at once.
    QuotaExhausted,
    /// The answer says that it should not be sent again.
    ToldNotTo,
    /// It was sent, and a layer below did not let the next attempt through: one of ours, or tower's
    /// load-shed. Of that attempt alone nothing was sent.
    Refused(Refused),
}

impl GaveUpReason {
    /// In a word, for labels and fields: `attempts`, `deadline`, `budget`, `hint_too_long`,
    /// `may_be_processed`, `body_not_replayable`, `quota_exhausted`, `told_not_to`, `refused`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Attempts { .. } => "attempts",
            Self::Deadline { .. } => "deadline",
            Self::Budget => "budget",
            Self::HintTooLong { .. } => "hint_too_long",
            Self::MayBeProcessed => "may_be_processed",
            Self::BodyNotReplayable => "body_not_replayable",
            Self::QuotaExhausted => "quota_exhausted",
            Self::ToldNotTo => "told_not_to",
            Self::Refused(_) => "refused",
        }
    }
}

impl GaveUp {
    pub(crate) fn new(reason: GaveUpReason, attempts: u32) -> Self {
        Self {
            reason,
            attempts,
            retry_after: None,
            status: None,
            body: Bytes::new(),
            source: None,
        }
    }

    pub(crate) fn retry_after(self, retry_after: Option<Duration>) -> Self {
        Self {
            retry_after,
            ..self
        }
    }

    pub(crate) fn status(self, status: Option<StatusCode>) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn body(self, body: Bytes) -> Self {
        Self { body, ..self }
    }

    pub(crate) fn source(self, source: Option<Error>) -> Self {
        let source = source.map(|error| Arc::new(error) as _);
        Self { source, ..self }
    }

    /// Why this response was the last one, if it was a failure that a retry gave up on.
    ///
    /// ```
    /// use tidegate_retry::GaveUp;
    ///
    /// let response = http::Response::new(String::new());
    /// assert!(GaveUp::of(&response).is_none());
    /// ```
    pub fn of(response: &impl RetryResponse) -> Option<&Self> {
        response.extensions().get()
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            0 => f.write_str("not sent")?,
            1 => f.write_str("sent once and not again")?,
            2 => f.write_str("sent twice and not again")?,
            attempts => write!(f, "sent {attempts} times and not again")?,
        }
        write!(f, ", since {}", self.reason)?;
        if let Some(status) = self.status {
            write!(f, "; the last answer was {}", status.as_u16())?;
        }
        match self.retry_after {
            Some(wait) => write!(f, "; try again in {wait:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for GaveUpReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attempts { attempts: 1 } => f.write_str("it may be sent once"),
            Self::Attempts { attempts } => write!(f, "it may be sent {attempts} times"),
            Self::Deadline { deadline } => write!(f, "all has to end within {deadline:?}"),
            Self::Budget => f.write_str("the budget of retries is spent"),
            Self::HintTooLong { max_hint } => {
                write!(f, "a wait of more than {max_hint:?} was asked for")
            }
            Self::MayBeProcessed => f.write_str("it may have been processed"),
            Self::BodyNotReplayable => f.write_str("its body can be read only once"),
            Self::QuotaExhausted => f.write_str("the quota is exhausted"),
            Self::ToldNotTo => f.write_str("the answer forbids it"),
            Self::Refused(refused) => {
                write!(f, "the retry was refused by {}", refused.by)?;
                if let Some(key) = &refused.key {
                    write!(f, " for {key:?}")?;
                }
                write!(f, ": {}", refused.reason)
            }
        }
    }
}

impl StdError for GaveUp {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
