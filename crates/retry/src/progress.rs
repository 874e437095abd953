use std::time::Duration;

use tokio::time::Instant;

use crate::random::random;
use crate::rules::{Decision, Failed};
use crate::sent::Sent;
use crate::settings::{Failure, Settings};
use crate::{BudgetFor, GaveUpReason};

/// What the services of one layer share.
#[derive(Debug)]
pub(crate) struct Shared<C, B> {
    pub(crate) settings: Settings<C>,
    pub(crate) budget: B,
}

/// How far one call has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) started: Instant,
    /// 0 before the first.
    pub(crate) attempt: u32,
    pub(crate) sent: Sent,
    /// What our back-off had in it before this attempt.
    waited: Option<Duration>,
    /// Because of what the request is.
    may_be_repeated: bool,
    /// Which one pays.
    budget: usize,
}

impl Progress {
    pub(crate) fn new(started: Instant, may_be_repeated: bool, budget: usize) -> Self {
        Self {
            started,
            attempt: 0,
            sent: Sent::default(),
            waited: None,
            may_be_repeated,
            budget,
        }
    }

    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }

    /// How long to wait for the next attempt, which is paid for then.
    pub(crate) fn next<C, B, Req>(
        &mut self,
        shared: &Shared<C, B>,
        failure: &Failure,
        is_replayable: bool,
        now: Instant,
    ) -> Result<Duration, GaveUpReason>
    where
        B: BudgetFor<Req>,
    {
        let failed = Failed {
            attempt: self.attempt,
            elapsed: self.elapsed(now),
            waited: self.waited,
            hint: failure.hint,
            forbids: failure.forbids,
            may_be_repeated: self.may_be_repeated || failure.is_unprocessed,
            is_replayable,
        };
        match shared.settings.rules.decide(&failed, random()) {
            Decision::GiveUp(reason) => Err(reason),
            Decision::Retry { .. } if !shared.budget.withdraw(self.budget, now) => {
                Err(GaveUpReason::Budget)
            }
            Decision::Retry { after, backoff } => {
                self.waited = Some(backoff);
                for observer in &shared.settings.observers {
                    observer.on_retry(now.into_std(), self.attempt + 1, after);
                }
                Ok(after)
            }
        }
    }

    /// The next attempt is not made after all, or was not sent.
    pub(crate) fn give_back<C, B, Req>(&self, shared: &Shared<C, B>)
    where
        B: BudgetFor<Req>,
    {
        shared.budget.give_back(self.budget);
    }
}
