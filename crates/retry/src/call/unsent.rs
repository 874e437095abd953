//! What comes of an attempt that was not sent.

use std::time::Duration;

use tidegate_core::{Error, Refused, RefusedReason};
use tokio::time::Instant;

use super::Call;
use crate::progress::Shared;
use crate::{BudgetFor, GaveUpReason, RetryRequest};

impl<Request: RetryRequest> Call<Request> {
    /// A layer below refused the attempt that is under way: the answer, unless another attempt follows.
    pub(crate) fn refused<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        refused: Refused,
        error: Error,
        now: Instant,
    ) -> Option<Error>
    where
        B: BudgetFor<Request>,
    {
        if let Some(progress) = &mut self.progress {
            progress.sent.take_back();
        }
        if self.attempts() > 1 {
            self.give_back(shared);
        }
        let failure = shared.settings.failed_refusal(&refused);
        let gave_up = failure.map(|failure| self.failed(shared, &failure, now).err());
        if self.has_sent() {
            if let Some(None) = gave_up {
                return None;
            }
            // "Nothing was sent" is true of the last attempt and not of the call.
            self.last.hint = refused.retry_after;
            let gave_up = self.gave_up(shared, GaveUpReason::Refused(refused), now);
            return Some(Error::service(gave_up));
        }
        let Some(gave_up) = gave_up else {
            return Some(error);
        };
        self.last.error = Some(error);
        gave_up.map(|reason| Error::service(self.gave_up(shared, reason, now)))
    }

    /// The time of the attempt was over, or the deadline of all, and it still waited in a layer below;
    /// whether that is the end.
    pub(super) fn waited<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        deadline: Option<Duration>,
        now: Instant,
    ) -> (Error, bool)
    where
        B: BudgetFor<Request>,
    {
        if let Some(deadline) = deadline.filter(|_| self.has_sent()) {
            self.give_back(shared);
            let gave_up = self.gave_up(shared, GaveUpReason::Deadline { deadline }, now);
            return (Error::service(gave_up), true);
        }
        let max_wait = deadline.or(shared.settings.attempt_timeout);
        let max_wait = max_wait.expect("one of them was over");
        let refused = Refused::new("retry", RefusedReason::WaitedTooLong { max_wait });
        (refused.into(), deadline.is_some())
    }

    /// No attempt could begin any more. Where none was sent, that is a refusal of ours.
    pub(super) fn too_late<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        reason: GaveUpReason,
        now: Instant,
    ) -> Error {
        let is_first = !self.has_sent() && self.last.error.is_none();
        if let Some(max_wait) = shared.settings.rules.deadline.filter(|_| is_first) {
            let refused = Refused::new("retry", RefusedReason::WaitTooLong { max_wait });
            self.last.error = Some(refused.into());
        }
        Error::service(self.gave_up(shared, reason, now))
    }
}
