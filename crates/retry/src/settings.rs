use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode};
use tidegate_classify::{Classify, When, errors};
use tidegate_core::{Observer, Outcome, Refused, RefusedReason};
use tokio::time::Instant;
use tower::load_shed::error::Overloaded;

use crate::rules::Rules;
use crate::{GaveUpReason, RetryRequest, RetryResponse};

type RepeatIf = dyn Fn(&Method, &str, &HeaderMap) -> bool + Send + Sync;
type ExhaustedIf = dyn Fn(&[u8]) -> bool + Send + Sync;

/// What a retry was told, and what it therefore makes of an answer.
#[derive(Clone)]
pub(crate) struct Settings<C> {
    pub(crate) rules: Rules,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) classifier: C,
    /// Statuses that prove that nothing was processed.
    pub(crate) unprocessed: Arc<[u16]>,
    pub(crate) repeat_if: Option<Arc<RepeatIf>>,
    pub(crate) exhausted_if: Option<Arc<ExhaustedIf>>,
    pub(crate) refusals: bool,
    pub(crate) no_redirects: bool,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

/// A failure that may pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) hint: Option<Duration>,
    pub(crate) is_unprocessed: bool,
    pub(crate) forbids: bool,
}

/// How services of OpenAI and Anthropic, and Stripe, say that it is no use.
const SHOULD_RETRY: [&str; 2] = ["x-should-retry", "stripe-should-retry"];

/// What the bodies of exhausted quotas have in them: OpenAI's codes of an empty balance and of a hard
/// limit. Google's say that the limit of the quota is none at all, which [`says_limit_0`] finds.
const EXHAUSTED: [&[u8]; 2] = [b"insufficient_quota", b"billing_hard_limit_reached"];

impl<C> Settings<C> {
    /// A call ends with a failure that might have passed, after so many times that it was sent.
    pub(crate) fn tell_gave_up(&self, now: Instant, reason: &GaveUpReason, sent: u32) {
        for observer in &self.observers {
            observer.on_gave_up(now.into_std(), reason.name(), sent);
        }
    }

    /// Whether doing it twice does no harm (RFC 9110 §9.2.2), or the service sees to that
    /// (draft-ietf-httpapi-idempotency-key-header).
    pub(crate) fn may_repeat(&self, request: &impl RetryRequest) -> bool {
        let (method, headers) = (request.method(), request.headers());
        method.is_idempotent()
            || headers.contains_key("idempotency-key")
            || self
                .repeat_if
                .as_ref()
                .is_some_and(|repeat_if| repeat_if(method, request.path(), headers))
    }

    pub(crate) fn failed_response<Req, Res>(
        &self,
        call: &mut C::Call,
        response: &Res,
    ) -> Option<Failure>
    where
        C: Classify<Req, Res>,
        Res: RetryResponse,
    {
        let When::Now(verdict) = self.classifier.response(call, response) else {
            return None;
        };
        let status = response.status();
        let may_pass = match verdict.outcome {
            Outcome::Success | Outcome::Ignored => false,
            Outcome::Overload(_) => true,
            Outcome::Failure => !is_permanent(status),
        };
        may_pass.then(|| Failure {
            hint: verdict.retry_after,
            is_unprocessed: self.unprocessed.contains(&status.as_u16()),
            forbids: forbids(response.headers()),
        })
    }

    /// What a refusal is, if it is one that may be tried again.
    pub(crate) fn failed_refusal(&self, refused: &Refused) -> Option<Failure> {
        self.refusals.then_some(Failure {
            hint: refused.retry_after,
            is_unprocessed: true,
            forbids: false,
        })
    }

    /// The same for an error that is no [`refusal`].
    pub(crate) fn failed_error<Req, Res>(
        &self,
        call: &mut C::Call,
        error: &(dyn StdError + 'static),
    ) -> Option<Failure>
    where
        C: Classify<Req, Res>,
    {
        let verdict = self.classifier.error(call, error);
        // A stream that was refused before its turn may be no word about the service, and yet have to
        // be sent again.
        let is_unprocessed = errors::not_processed(error) || self.proves_no_connection(error);
        let may_pass = !matches!(verdict.outcome, Outcome::Success | Outcome::Ignored);
        (is_unprocessed || may_pass).then_some(Failure {
            hint: verdict.retry_after,
            is_unprocessed,
            forbids: false,
        })
    }

    fn proves_no_connection(&self, error: &(dyn StdError + 'static)) -> bool {
        #[cfg(feature = "reqwest")]
        if self.no_redirects {
            let mut chain = tidegate_core::chain(error);
            return chain.any(|error| {
                let error = error.downcast_ref::<reqwest::Error>();
                error.is_some_and(reqwest::Error::is_connect)
            });
        }
        let _ = (self, error);
        false
    }

    /// Whether the body of a failure says that waiting does not help. Our words mean it only where it was
    /// throttled.
    pub(crate) fn is_exhausted(&self, status: Option<StatusCode>, body: &[u8]) -> bool {
        let contains = |words: &[u8]| body.windows(words.len()).any(|at| at == words);
        let is_throttled = status == Some(StatusCode::TOO_MANY_REQUESTS);
        is_throttled && (EXHAUSTED.iter().any(|words| contains(words)) || says_limit_0(body))
            || self
                .exhausted_if
                .as_ref()
                .is_some_and(|exhausted_if| exhausted_if(body))
    }
}

/// The service will say the same again: not implemented, no such version, and a network that wants a
/// login first.
fn is_permanent(status: StatusCode) -> bool {
    matches!(status.as_u16(), 501 | 505 | 511)
}

fn forbids(headers: &HeaderMap) -> bool {
    let says_no = |name| headers.get(name).is_some_and(|value| value == "false");
    SHOULD_RETRY.into_iter().any(says_no)
}

/// The refusal of a layer below, if it is one: nothing was sent.
pub(crate) fn refusal(error: &(dyn StdError + 'static)) -> Option<Refused> {
    let is_shed = || tidegate_core::chain(error).any(<dyn StdError>::is::<Overloaded>);
    let shed = || is_shed().then(|| Refused::new("load-shed", RefusedReason::NoRoom));
    Refused::find(error).cloned().or_else(shed)
}

/// `limit: 0`, but not `limit: 0.5` nor `limit: 05`.
fn says_limit_0(body: &[u8]) -> bool {
    const LIMIT_0: &[u8] = b"limit: 0";
    body.windows(LIMIT_0.len()).enumerate().any(|(at, found)| {
        let next = body.get(at + LIMIT_0.len());
        let goes_on = next.is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
        found == LIMIT_0 && !goes_on
    })
}

impl<C: fmt::Debug> fmt::Debug for Settings<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("rules", &self.rules)
            .field("attempt_timeout", &self.attempt_timeout)
            .field("classifier", &self.classifier)
            .field("unprocessed", &self.unprocessed)
            .field("repeat_if", &self.repeat_if.is_some())
            .field("exhausted_if", &self.exhausted_if.is_some())
            .field("refusals", &self.refusals)
            .field("no_redirects", &self.no_redirects)
            .field("observers", &self.observers.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_zero_is_no_other_number() {
        for (body, expected) in [
            ("quota metric requests, limit: 0, model x", true),
            ("limit: 0", true),
            ("limit: 0.5", false),
            ("limit: 05", false),
            ("limit: 50", false),
            ("limit: 0.5, limit: 0\n", true),
            ("", false),
        ] {
            assert_eq!(says_limit_0(body.as_bytes()), expected, "{body}");
        }
    }
}
