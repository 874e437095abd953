use std::time::Duration;

use tokio::time::Instant;

use crate::clock::now;

/// How long a request was in the hands of the layers below without being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    total: Duration,
    since: Option<Instant>,
}

impl Wait {
    /// The time, where it has to be known before a poll.
    pub(crate) fn before(self) -> Option<Instant> {
        self.since.map(|_| now())
    }

    /// After a poll that began then, if it was [asked](Self::before).
    pub(crate) fn after(&mut self, began: Option<Instant>, waits: bool) {
        match (self.since, waits) {
            (None, true) => self.since = Some(now()),
            (Some(since), false) => {
                self.total += began.unwrap_or(since).saturating_duration_since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// In all.
    pub(crate) fn end(mut self) -> Duration {
        let began = self.before();
        self.after(began, false);
        self.total
    }
}
