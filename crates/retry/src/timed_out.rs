use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

/// One attempt took longer than it may. Its source is an `io::Error` of the kind `TimedOut`, so that
/// classifiers know it.
#[derive(Debug)]
pub struct AttemptTimedOut {
    after: Duration,
    timed_out: io::Error,
}

impl AttemptTimedOut {
    pub(crate) fn new(after: Duration) -> Self {
        Self {
            after,
            timed_out: io::ErrorKind::TimedOut.into(),
        }
    }

    /// How long it took.
    pub fn after(&self) -> Duration {
        self.after
    }
}

impl fmt::Display for AttemptTimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {:?}", self.after)
    }
}

impl Error for AttemptTimedOut {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.timed_out)
    }
}
