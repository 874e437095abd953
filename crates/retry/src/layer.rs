use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use tidegate_classify::HttpClassifier;
use tidegate_core::Observer;
use tower_layer::Layer;

use crate::backoff::Backoff;
use crate::progress::Shared;
use crate::rules::Rules;
use crate::settings::Settings;
use crate::{Budget, Jitter, Retry, RetryPolicy};

/// Sends a request again when that may help, is harmless, and does not make an overload worse.
///
/// See the [crate](crate) for what is sent again. Clones of the layer and all services that it makes
/// share one budget, unless that is set to another.
#[derive(Clone)]
pub struct RetryLayer<C = HttpClassifier, B = Budget> {
    settings: Settings<C>,
    budget: B,
}

/// In all, as in the AWS SDKs' standard mode.
const ATTEMPTS: u32 = 3;

/// The longest `Retry-After` that the SDKs of OpenAI and Anthropic wait for.
const MAX_HINT: Duration = Duration::from_secs(60);

/// Too many requests (RFC 6585 §4): the service counted it and did not begin.
const UNPROCESSED: [u16; 1] = [429];

impl RetryLayer {
    /// Stays away for `delays.start` before the first retry and twice as long before each next one, up
    /// to `delays.end`; with [full jitter](Jitter::Full), so anything below that.
    ///
    /// # Panics
    ///
    /// If `delays.end` is shorter than `delays.start`.
    #[track_caller]
    pub fn exponential(delays: Range<Duration>) -> Self {
        let rules = Rules {
            backoff: Backoff::exponential(delays),
            attempts: ATTEMPTS,
            deadline: None,
            attempt_needs: Duration::ZERO,
            max_hint: MAX_HINT,
        };
        Self {
            settings: Settings {
                rules,
                attempt_timeout: None,
                classifier: HttpClassifier::default(),
                unprocessed: UNPROCESSED.into(),
                repeat_if: None,
                exhausted_if: None,
                refusals: false,
                no_redirects: false,
                observers: Vec::new(),
            },
            budget: Budget::default(),
        }
    }
}

impl<C, B> RetryLayer<C, B> {
    /// Has `observer` hear of each retry when that is decided on, before the back-off, and of each call
    /// that ends with a failure which might have passed, and why: each [`GaveUp`](crate::GaveUp). A retry
    /// that a layer below then refuses it hears of there and here. Several may.
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.observers.push(observer);
        self
    }

    /// How often a request is sent at most, the first time included. Default 3.
    ///
    /// # Panics
    ///
    /// If `attempts` is 0.
    #[must_use]
    #[track_caller]
    pub fn attempts(mut self, attempts: u32) -> Self {
        assert!(attempts > 0, "a request is sent at least once");
        self.settings.rules.attempts = attempts;
        self
    }

    /// How chance spreads the back-off. Default [`Jitter::Full`].
    #[must_use]
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.rules.backoff = self.settings.rules.backoff.jitter(jitter);
        self
    }

    /// The shortest back-off, whatever chance says. Default zero.
    ///
    /// # Panics
    ///
    /// If `floor` is longer than the longest back-off.
    #[must_use]
    #[track_caller]
    pub fn floor(mut self, floor: Duration) -> Self {
        self.settings.rules.backoff = self.settings.rules.backoff.floor(floor);
        self
    }

    /// How long all attempts and all waits for them may take, up to the head of the response, from when
    /// the future is first polled. No attempt begins at or after it, and one that is under way then is
    /// given up. What was never sent until then is a [`Refused`](tidegate_core::Refused) by `"retry"`.
    /// Default: for ever.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.rules.deadline = Some(deadline);
        self
    }

    /// How long one attempt may take, waits in the layers below included; less where less is left of the
    /// deadline. One that still waits there is no failure but a [`Refused`](tidegate_core::Refused) by
    /// `"retry"`, which is not tried again unless [so told](Self::retry_refusals). Default: for ever.
    #[must_use]
    pub fn attempt_timeout(mut self, attempt_timeout: Duration) -> Self {
        self.settings.attempt_timeout = Some(attempt_timeout);
        self
    }

    /// How long an attempt needs at least: none begins when less than that, or just that, is left of the
    /// deadline. Default zero.
    #[must_use]
    pub fn attempt_needs(mut self, attempt_needs: Duration) -> Self {
        self.settings.rules.attempt_needs = attempt_needs;
        self
    }

    /// Gives up at once when the service asks for a longer wait. Default 60 seconds.
    #[must_use]
    pub fn max_hint(mut self, max_hint: Duration) -> Self {
        self.settings.rules.max_hint = max_hint;
        self
    }

    /// The statuses of this service that prove that a request was not processed, so that even a `POST` is
    /// sent again. Default: 429 alone.
    #[must_use]
    pub fn unprocessed(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.settings.unprocessed = statuses.into_iter().collect();
        self
    }

    /// Also repeats requests for which this holds, given their method, path and headers, as if they were
    /// idempotent. Default: none.
    #[must_use]
    pub fn repeat_if(
        mut self,
        repeat_if: impl Fn(&Method, &str, &HeaderMap) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.repeat_if = Some(Arc::new(repeat_if));
        self
    }

    /// Also gives up when the body of a failure, of up to 64 KiB and as it came (it may be compressed),
    /// says so: an exhausted quota in the words of this service. Default: `insufficient_quota`,
    /// `billing_hard_limit_reached` and `limit: 0` in a 429 alone.
    #[must_use]
    pub fn exhausted_if(
        mut self,
        exhausted_if: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.exhausted_if = Some(Arc::new(exhausted_if));
        self
    }

    /// Also repeats what a layer of ours, or tower's load-shed, refused below: at the earliest when the
    /// refusal says. Default: a refusal is the end, since whoever refuses has more than enough to do. It is
    /// passed on where nothing was sent before, and is [the reason](crate::GaveUpReason::Refused) otherwise.
    #[must_use]
    pub fn retry_refusals(mut self) -> Self {
        self.settings.refusals = true;
        self
    }

    /// The reqwest client below follows no redirects: it has `redirect::Policy::none()`. Only then does a
    /// connection that it could not make prove that nothing was processed, since otherwise another
    /// connection may have come before.
    #[cfg(feature = "reqwest")]
    #[must_use]
    pub fn no_redirects(mut self) -> Self {
        self.settings.no_redirects = true;
        self
    }

    /// Says what is a failure, and for how long the service wants to be left alone. Default
    /// [`HttpClassifier`].
    #[must_use]
    pub fn classifier<D>(self, classifier: D) -> RetryLayer<D, B> {
        let settings = Settings {
            rules: self.settings.rules,
            attempt_timeout: self.settings.attempt_timeout,
            classifier,
            unprocessed: self.settings.unprocessed,
            repeat_if: self.settings.repeat_if,
            exhausted_if: self.settings.exhausted_if,
            refusals: self.settings.refusals,
            no_redirects: self.settings.no_redirects,
            observers: self.settings.observers,
        };
        RetryLayer {
            settings,
            budget: self.budget,
        }
    }

    /// Pays for retries: a [`Budget`], which others may share, or a
    /// [`BudgetPerKey`](crate::BudgetPerKey). Default: `Budget::default()`. There is none without a
    /// bound.
    #[must_use]
    pub fn budget<D>(self, budget: D) -> RetryLayer<C, D> {
        RetryLayer {
            settings: self.settings,
            budget,
        }
    }

    /// The same as a policy for `tower::retry`.
    pub fn policy(self) -> RetryPolicy<C, B> {
        RetryPolicy::new(Shared {
            settings: self.settings,
            budget: self.budget,
        })
    }
}

impl<S, C: Clone, B: Clone> Layer<S> for RetryLayer<C, B> {
    type Service = Retry<S, C, B>;

    fn layer(&self, inner: S) -> Self::Service {
        let shared = Shared {
            settings: self.settings.clone(),
            budget: self.budget.clone(),
        };
        Retry::new(inner, Arc::new(shared))
    }
}

impl<C: fmt::Debug, B: fmt::Debug> fmt::Debug for RetryLayer<C, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryLayer")
            .field("settings", &self.settings)
            .field("budget", &self.budget)
            .finish()
    }
}
