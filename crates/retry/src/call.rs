use std::time::Duration;

use http::StatusCode;
use tidegate_core::Error;
use tokio::time::Instant;

use crate::progress::{Progress, Shared};
use crate::settings::Failure;
use crate::{Attempt, AttemptTimedOut, BudgetFor, GaveUp, GaveUpReason, RetryRequest};

/// One call of a [`Retry`](crate::Retry) service: what is sent next, and what is known of what was sent.
pub(crate) struct Call<Request> {
    /// What is sent next, or would be.
    next: Option<Request>,
    /// Nothing was sent before there is one.
    progress: Option<Progress>,
    /// That of a retry above this one, which then makes the attempts.
    outer: Option<Attempt>,
    begun: Option<Begun>,
    /// Of the last response.
    pub(crate) status: Option<StatusCode>,
    /// The last answer, if it was one and another attempt is to follow.
    error: Option<Error>,
    /// What the last answer asked for.
    hint: Option<Duration>,
    /// Until when the next attempt is not made.
    wake: Option<Instant>,
}

/// How long the rest of a body may take that nobody wants: then another connection is cheaper.
const DRAIN: Duration = Duration::from_millis(100);

/// As far as anybody waits: 30 years, which tokio's timers can count.
const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// An attempt that is under way.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: Instant,
    /// When it is given up.
    ends: Option<Instant>,
}

impl<Request: RetryRequest> Call<Request> {
    pub(crate) fn new(request: Request) -> Self {
        Self {
            next: Some(request),
            progress: None,
            outer: None,
            begun: None,
            status: None,
            error: None,
            hint: None,
            wake: None,
        }
    }

    /// What is to be sent now, unless it is too late.
    pub(crate) fn begin<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        now: Instant,
    ) -> Result<Request, GaveUp>
    where
        B: BudgetFor<Request>,
    {
        let rules = &shared.settings.rules;
        let mut request = self.next.take().expect("not polled after it was ready");
        let made = self.attempts();
        let elapsed = self.progress(shared, &request, now).elapsed(now);
        if let Some(reason) = rules.too_late(elapsed) {
            if made > 0 {
                self.give_back(shared);
            }
            let error = self.error.take();
            return Err(self.gave_up(reason).source(error));
        }
        self.begun = Some(Begun {
            at: now,
            ends: self.end(shared, now),
        });
        let attempt = made + 1;
        self.progress(shared, &request, now).attempt = attempt;
        if self.outer.is_none() {
            if attempt < rules.attempts {
                self.next = request.try_clone();
            }
            request.set_attempt(Attempt::new(attempt));
        }
        Ok(request)
    }

    /// That of this call, which begins now if it has not.
    fn progress<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        request: &Request,
        now: Instant,
    ) -> &mut Progress
    where
        B: BudgetFor<Request>,
    {
        let outer = &mut self.outer;
        self.progress.get_or_insert_with(|| {
            *outer = request.attempt();
            let budget = shared.budget.find(request, now);
            if outer.is_none() {
                shared.budget.deposit(budget, now);
            }
            Progress::new(now, shared.settings.may_repeat(request), budget)
        })
    }

    /// When an attempt that begins now is given up.
    fn end<C, B>(&self, shared: &Shared<C, B>, now: Instant) -> Option<Instant> {
        let timeout = shared.settings.attempt_timeout;
        let ends = timeout.and_then(|timeout| now.checked_add(timeout));
        [ends, self.deadline(shared)].into_iter().flatten().min()
    }

    /// The attempt that was paid for is not made.
    fn give_back<C, B>(&self, shared: &Shared<C, B>)
    where
        B: BudgetFor<Request>,
    {
        self.progress
            .iter()
            .for_each(|progress| progress.give_back(shared));
    }

    /// The attempt that is polled now.
    pub(crate) fn attempt(&self) -> Attempt {
        let own = || Attempt::new(self.attempts());
        self.outer.unwrap_or_else(own)
    }

    /// When the attempt that is under way is given up.
    pub(crate) fn ends(&self) -> Option<Instant> {
        self.begun?.ends
    }

    /// The attempt that is under way was given up; whether that is the end.
    pub(crate) fn timed_out<C, B>(&mut self, shared: &Shared<C, B>, now: Instant) -> (Error, bool) {
        let took = self.begun.map_or(Duration::ZERO, |begun| {
            now.saturating_duration_since(begun.at)
        });
        let timed_out = Error::service(AttemptTimedOut::new(took));
        let elapsed = self.progress.as_ref().map(|progress| progress.elapsed(now));
        match shared.settings.rules.deadline {
            Some(deadline) if elapsed.is_some_and(|elapsed| elapsed >= deadline) => {
                let gave_up = self.gave_up(GaveUpReason::Deadline { deadline });
                (Error::service(gave_up.source(Some(timed_out))), true)
            }
            _ => (timed_out, false),
        }
    }

    /// When the next attempt is made.
    pub(crate) fn wake(&self) -> Instant {
        self.wake.expect("an attempt that failed said when to wake")
    }

    /// Whether this layer has nothing to add: a retry above it makes the attempts.
    pub(crate) fn is_nested(&self) -> bool {
        self.outer.is_some()
    }

    /// Sets when the next attempt is to be made, after one that failed.
    pub(crate) fn failed<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        failure: &Failure,
        now: Instant,
    ) -> Result<(), GaveUp>
    where
        B: BudgetFor<Request>,
    {
        let Some(progress) = &mut self.progress else {
            unreachable!("an attempt that failed was begun");
        };
        // After the last attempt there is none, and no need for one.
        let is_replayable = progress.attempt >= shared.settings.rules.attempts
            || self.next.as_ref().is_some_and(Request::is_whole);
        self.hint = failure.hint;
        match progress.next(shared, failure, is_replayable, now) {
            Err(reason) => Err(self.gave_up(reason)),
            Ok(after) => {
                self.wake = now.checked_add(after).or_else(|| now.checked_add(NEVER));
                Ok(())
            }
        }
    }

    /// What the next attempt follows, where that was an error.
    pub(crate) fn keep(&mut self, error: Option<Error>) {
        self.error = error;
    }

    /// Until when it may read on in a failure that came now.
    pub(crate) fn drain_until<C, B>(&self, shared: &Shared<C, B>, now: Instant) -> Instant {
        let deadline = self.deadline(shared).unwrap_or(now + DRAIN);
        deadline.min(now + DRAIN)
    }

    fn deadline<C, B>(&self, shared: &Shared<C, B>) -> Option<Instant> {
        let started = self.progress.as_ref()?.started;
        started.checked_add(shared.settings.rules.deadline?)
    }

    /// The body of the last response says that the next attempt is no use.
    pub(crate) fn exhausted<C, B>(&mut self, shared: &Shared<C, B>) -> GaveUp
    where
        B: BudgetFor<Request>,
    {
        self.give_back(shared);
        self.gave_up(GaveUpReason::QuotaExhausted)
    }

    fn gave_up(&mut self, reason: GaveUpReason) -> GaveUp {
        GaveUp::new(reason, self.attempts())
            .status(self.status)
            .retry_after(self.hint)
    }

    fn attempts(&self) -> u32 {
        self.progress
            .as_ref()
            .map_or(0, |progress| progress.attempt)
    }
}
