mod unsent;

use std::time::Duration;

use tidegate_core::Error;
use tokio::time::Instant;

use crate::last_answer::LastAnswer;
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
    /// Of the service; a refusal only where nothing was sent.
    pub(crate) last: LastAnswer,
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
            last: LastAnswer::default(),
            wake: None,
        }
    }

    /// What is to be sent now, unless it is too late.
    pub(crate) fn begin<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        now: Instant,
    ) -> Result<Request, Error>
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
            return Err(self.too_late(shared, reason, now));
        }
        self.last.hint = None;
        self.begun = Some(Begun {
            at: now,
            ends: self.end(shared, now),
        });
        let attempt = made + 1;
        let progress = self.progress(shared, &request, now);
        progress.attempt = attempt;
        progress.sent.begin();
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
    pub(crate) fn timed_out<C, B>(&mut self, shared: &Shared<C, B>, now: Instant) -> (Error, bool)
    where
        B: BudgetFor<Request>,
    {
        let Some((progress, begun)) = self.progress.zip(self.begun) else {
            unreachable!("an attempt that took too long was begun");
        };
        let deadline = shared.settings.rules.deadline;
        let deadline = deadline.filter(|deadline| progress.elapsed(now) >= *deadline);
        if !progress.sent.is_now() {
            return self.waited(shared, deadline, now);
        }
        let took = now.saturating_duration_since(begun.at);
        let timed_out = Error::service(AttemptTimedOut::new(took));
        let Some(deadline) = deadline else {
            return (timed_out, false);
        };
        self.last.error = Some(timed_out);
        let gave_up = self.gave_up(shared, GaveUpReason::Deadline { deadline }, now);
        (Error::service(gave_up), true)
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
    ) -> Result<(), GaveUpReason>
    where
        B: BudgetFor<Request>,
    {
        let Some(progress) = &mut self.progress else {
            unreachable!("an attempt that failed was begun");
        };
        // After the last attempt there is none, and no need for one.
        let is_replayable = progress.attempt >= shared.settings.rules.attempts
            || self.next.as_ref().is_some_and(Request::is_whole);
        self.last.hint = failure.hint;
        let after = progress.next(shared, failure, is_replayable, now)?;
        self.wake = now.checked_add(after).or_else(|| now.checked_add(NEVER));
        Ok(())
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
    pub(crate) fn exhausted<C, B>(&mut self, shared: &Shared<C, B>, now: Instant) -> GaveUp
    where
        B: BudgetFor<Request>,
    {
        self.give_back(shared);
        self.gave_up(shared, GaveUpReason::QuotaExhausted, now)
    }

    /// The end of the call, of which who observes is told.
    pub(crate) fn gave_up<C, B>(
        &mut self,
        shared: &Shared<C, B>,
        reason: GaveUpReason,
        now: Instant,
    ) -> GaveUp {
        let sent = self.progress.map_or(0, |progress| progress.sent.count());
        shared.settings.tell_gave_up(now, &reason, sent);
        self.last.gave_up(reason, sent)
    }

    /// Nobody below says that the attempt under way still waits to be sent.
    pub(crate) fn mark_sent(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress.sent.mark();
        }
    }

    /// Whether an attempt of this call was sent, or may have been.
    pub(crate) fn has_sent(&self) -> bool {
        self.progress
            .is_some_and(|progress| progress.sent.count() > 0)
    }

    fn attempts(&self) -> u32 {
        self.progress
            .as_ref()
            .map_or(0, |progress| progress.attempt)
    }
}
