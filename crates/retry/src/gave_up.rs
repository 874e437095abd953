use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tidegate_core::Error;

use crate::RetryResponse;

/// Why a failure was the last answer to a request.
///
/// Where that answer is a response, the caller gets the response, and this is in its extensions: see
/// [`of`](Self::of). Where it is an error, or where the response had to be read to know better, this
/// is the error, with what the service answered as its source: see
/// [`Error::find`](tidegate_core::Error::find).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GaveUp {
    /// Why it was not sent again.
    pub reason: GaveUpReason,
    /// How often it was sent.
    pub attempts: u32,
    /// When to try again, if the service said so in its last answer.
    pub retry_after: Option<Duration>,
    /// Of the last response, if there was one.
    pub status: Option<StatusCode>,
    /// The body of the last response, where it was read to the end to know why; otherwise empty.
    pub body: Bytes,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// Why a request was not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            1 => f.write_str("sent once")?,
            2 => f.write_str("sent twice")?,
            attempts => write!(f, "sent {attempts} times")?,
        }
        write!(f, " and not again, since {}", self.reason)?;
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
        }
    }
}

impl StdError for GaveUp {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.source.as_deref()?;
        Some(source)
    }
}
