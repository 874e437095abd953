use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tidegate_classify::{Classify, HttpClassifier, ResponseHead};
use tokio::time::{Sleep, sleep};
use tower::retry::Policy;

use crate::clock::now;
use crate::progress::{Progress, Shared};
use crate::settings::refusal;
use crate::{Attempt, Budget, BudgetFor, GaveUp, RetryRequest, RetryResponse};

/// The rules of a [`RetryLayer`](crate::RetryLayer) for users of `tower::retry`.
///
/// What tower's service cannot do it leaves out: a deadline stops the next attempt but not the one under
/// way, there is no timeout of an attempt, the body of a failure is not read, and an error is passed on
/// as it is: also the refusal of a later attempt by a layer below, which says that nothing was sent and
/// means that attempt alone. Only the attempts after the first are numbered. Of the last of several
/// attempts tower does not ask it: then there is no [`GaveUp`], and no observer is told of one.
///
/// The error of the service below must be an `Error`, not a box.
///
/// ```
/// use tidegate_core::Units;
/// use tidegate_retry::RetryLayer;
/// use tower::{ServiceBuilder, service_fn};
///
/// let policy = RetryLayer::exponential(100.ms()..5.s()).deadline(30.s()).policy();
/// let stack = ServiceBuilder::new().retry(policy).service(service_fn(
///     |_: http::Request<String>| async { Ok::<_, std::io::Error>(http::Response::new(String::new())) },
/// ));
/// # drop(stack);
/// ```
pub struct RetryPolicy<C = HttpClassifier, B = Budget> {
    shared: Arc<Shared<C, B>>,
    /// Of one call; that of the policy that makes the others has made no attempt.
    progress: Option<Progress>,
}

impl<C, B> RetryPolicy<C, B> {
    pub(crate) fn new(shared: Shared<C, B>) -> Self {
        Self {
            shared: Arc::new(shared),
            progress: None,
        }
    }
}

impl<Request, Response, E, C, B> Policy<Request, Response, E> for RetryPolicy<C, B>
where
    Request: RetryRequest,
    Response: RetryResponse,
    E: Error + 'static,
    C: Classify<Request, Response>,
    B: BudgetFor<Request>,
{
    type Future = Sleep;

    fn retry(&mut self, request: &mut Request, answer: &mut Result<Response, E>) -> Option<Sleep> {
        let settings = &self.shared.settings;
        let mut call = settings.classifier.request(request);
        let refused = answer.as_ref().err().and_then(|error| refusal(error));
        let failure = match (&refused, &*answer) {
            (Some(refused), _) => settings.failed_refusal(refused),
            (None, Ok(response)) => settings.failed_response(&mut call, response),
            (None, Err(error)) => settings.failed_error(&mut call, error),
        }?;
        let progress = self.progress.as_mut()?;
        progress.attempt += 1;
        progress.sent.begin();
        if refused.is_none() {
            progress.sent.mark();
        }
        let is_replayable = request.is_whole();
        let now = now();
        match progress.next(&self.shared, &failure, is_replayable, now) {
            Ok(after) => {
                request.set_attempt(Attempt::new(progress.attempt + 1));
                Some(sleep(after))
            }
            Err(reason) => {
                settings.tell_gave_up(now, &reason, progress.sent.count());
                if let Ok(response) = answer {
                    let gave_up = GaveUp::new(reason, progress.sent.count())
                        .retry_after(failure.hint)
                        .status(Some(ResponseHead::status(response)));
                    response.extensions_mut().insert(gave_up);
                }
                None
            }
        }
    }

    fn clone_request(&mut self, request: &Request) -> Option<Request> {
        if let Some(progress) = self.progress.filter(|progress| progress.attempt > 0) {
            let is_last = progress.attempt + 1 >= self.shared.settings.rules.attempts;
            return (!is_last).then(|| request.try_clone())?;
        }
        if request.attempt().is_some() {
            return None;
        }
        let now = now();
        let budget = self.shared.budget.find(request, now);
        self.shared.budget.deposit(budget, now);
        let may_repeat = self.shared.settings.may_repeat(request);
        self.progress = Some(Progress::new(now, may_repeat, budget));
        request.try_clone()
    }
}

impl<C, B> Clone for RetryPolicy<C, B> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            progress: self.progress,
        }
    }
}

impl<C: fmt::Debug, B: fmt::Debug> fmt::Debug for RetryPolicy<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}
