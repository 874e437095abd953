use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::text;

/// A layer of ours said no: nothing was sent.
///
/// ```
/// use std::time::Duration;
/// use tidegate_core::{Refused, RefusedReason};
///
/// let refused = Refused::new("gate", RefusedReason::QueueFull { max_queue: 5 })
///     .retry_after(Some(Duration::from_millis(600)));
/// assert_eq!(
///     refused.to_string(),
///     "refused by gate, nothing was sent: the queue is full (5 may wait); try again in 600ms"
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Refused {
    /// Which layer said no: `"gate"`, `"rate"`, …
    pub by: &'static str,
    /// Why.
    pub reason: RefusedReason,
    /// Of which key, where a layer has keys.
    pub key: Option<Arc<str>>,
    /// When to try again, where a pace or a pause tells it; with a limit alone nobody knows.
    pub retry_after: Option<Duration>,
}

/// Why a layer said no.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusedReason {
    /// As many wait as may wait.
    QueueFull {
        /// How many may wait.
        max_queue: usize,
    },
    /// Its turn would not come in time.
    WaitTooLong {
        /// How long it may wait.
        max_wait: Duration,
    },
    /// It waited as long as it may.
    WaitedTooLong {
        /// How long that was.
        max_wait: Duration,
    },
    /// The service asked for quiet, and for longer than anybody waits.
    Paused {
        /// How long anybody waits.
        longest: Duration,
    },
    /// It may not wait at all, and there is no room now.
    NoRoom,
    /// The layer is closed for good.
    Closed,
}

impl Refused {
    /// Refused by the layer of that name.
    pub fn new(by: &'static str, reason: RefusedReason) -> Self {
        Self {
            by,
            reason,
            key: None,
            retry_after: None,
        }
    }

    /// The refusal in an error of any type, however many layers have wrapped it: tower's `Timeout`,
    /// `Buffer` and `Retry` hand out boxes.
    ///
    /// ```
    /// use tidegate_core::{BoxError, Error, Refused, RefusedReason};
    ///
    /// let boxed: BoxError = Error::from(Refused::new("gate", RefusedReason::Closed)).into();
    /// assert_eq!(Refused::find(&*boxed).unwrap().by, "gate");
    /// ```
    pub fn find<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        crate::error::find(error)
    }

    /// Says when to try again. Everybody who is refused now is told the same moment: add jitter.
    #[must_use]
    pub fn retry_after(self, retry_after: Option<Duration>) -> Self {
        Self {
            retry_after,
            ..self
        }
    }

    /// Says of which key.
    #[must_use]
    pub fn key(self, key: Arc<str>) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }
}

impl RefusedReason {
    /// Each in a word, for labels and fields.
    pub const NAMES: [&str; 6] = [
        "queue_full",
        "wait_too_long",
        "waited_too_long",
        "paused",
        "no_room",
        "closed",
    ];

    /// Which of [`NAMES`](Self::NAMES) it is.
    pub fn index(&self) -> usize {
        match self {
            Self::QueueFull { .. } => 0,
            Self::WaitTooLong { .. } => 1,
            Self::WaitedTooLong { .. } => 2,
            Self::Paused { .. } => 3,
            Self::NoRoom => 4,
            Self::Closed => 5,
        }
    }

    /// In a word, for labels and fields: one of [`NAMES`](Self::NAMES).
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.index()]
    }
}

/// Of a key what [may be shown](text::name) is: errors end in logs.
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by {}", self.by)?;
        if let Some(key) = &self.key {
            write!(f, " for {:?}", text::name(key))?;
        }
        write!(f, ", nothing was sent: {}", self.reason)?;
        match self.retry_after {
            Some(wait) => write!(f, "; try again in {wait:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for RefusedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueFull { max_queue: 0 } => f.write_str("no room now, and nobody may wait"),
            Self::QueueFull { max_queue } => write!(f, "the queue is full ({max_queue} may wait)"),
            Self::WaitTooLong { max_wait } => {
                write!(f, "its turn would not come within {max_wait:?}")
            }
            Self::WaitedTooLong { max_wait } => {
                write!(f, "its turn did not come within {max_wait:?}")
            }
            Self::Paused { longest } => write!(
                f,
                "the service asked for quiet, for more than the {longest:?} that anybody waits"
            ),
            Self::NoRoom => f.write_str("no room now"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

impl std::error::Error for Refused {}

/// As its words: what `main` returns is shown like this.
impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            by,
            reason,
            key,
            retry_after,
        } = self;
        f.debug_struct("Refused")
            .field("by", by)
            .field("reason", reason)
            .field("key", &key.as_deref().map(text::name))
            .field("retry_after", retry_after)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_refusal_show_of_a_key_no_credentials_and_no_more_than_a_line() {
        let of_key = |key: &str| {
            let refused = Refused::new("gate", RefusedReason::Closed);
            refused.key(Arc::from(key))
        };
        let of_url = of_key("https://u:secret@host/v1?key=secret");
        assert_eq!(
            of_url.to_string(),
            "refused by gate for \"https://host/v1\", nothing was sent: closed"
        );
        assert!(!format!("{of_url:?}").contains("secret"));
        assert!(of_key(&"x\n".repeat(1_000_000)).to_string().len() < 200);
    }
}
