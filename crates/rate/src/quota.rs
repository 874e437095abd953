use std::fmt;

use tidegate_core::Pace;

use crate::{FromBody, FromHead, One, Unsettled};

/// A pace, what a request costs there, and how that is settled once the answer is known: one of the
/// quotas of a [`RateLayer`](crate::RateLayer).
#[derive(Clone, Copy)]
pub struct Quota<C = One, S = Unsettled> {
    pub(crate) pace: Pace,
    pub(crate) cost: C,
    pub(crate) settle: S,
    /// Its number at the door.
    pub(crate) number: usize,
}

/// A quota, or a pace, which is one where each request costs one.
///
/// ```
/// use tidegate_core::{per_hour, per_minute};
/// use tidegate_rate::{IntoQuota, RateLayer};
///
/// fn tokens(request: &http::Request<String>) -> u32 {
///     request.body().len() as u32 / 4
/// }
/// let rate = RateLayer::per_minute(500.0)
///     .and(per_hour(10_000.0).burst(500))
///     .and(per_minute(200_000.0).burst(50_000).cost(tokens));
/// assert_eq!(rate.handle().paces().len(), 3);
/// ```
pub trait IntoQuota: Sized {
    /// See [`cost`](Self::cost).
    type Cost;
    /// See [`settle`](Self::settle).
    type Settle;

    /// The quota.
    fn into_quota(self) -> Quota<Self::Cost, Self::Settle>;

    /// What each request costs, instead of one: see [`RateLayer::cost`](crate::RateLayer::cost).
    #[must_use]
    fn cost<C>(self, cost: C) -> Quota<C, Self::Settle> {
        let Quota {
            pace,
            settle,
            number,
            ..
        } = self.into_quota();
        Quota {
            pace,
            cost,
            settle,
            number,
        }
    }

    /// What it did cost, from the head of the response: see
    /// [`RateLayer::settle`](crate::RateLayer::settle).
    #[must_use]
    fn settle<F>(self, actual: F) -> Quota<Self::Cost, FromHead<F>> {
        self.into_quota().settled(FromHead(actual))
    }

    /// What it did cost, from the body of the response: see
    /// [`RateLayer::settle_body`](crate::RateLayer::settle_body).
    #[must_use]
    fn settle_body<F>(self, actual: F) -> Quota<Self::Cost, FromBody<F>> {
        self.into_quota().settled(FromBody(actual))
    }
}

impl IntoQuota for Pace {
    type Cost = One;
    type Settle = Unsettled;

    fn into_quota(self) -> Quota {
        Quota {
            pace: self,
            cost: One,
            settle: Unsettled,
            number: 0,
        }
    }
}

impl<C, S> IntoQuota for Quota<C, S> {
    type Cost = C;
    type Settle = S;

    fn into_quota(self) -> Self {
        self
    }
}

impl<C, S> Quota<C, S> {
    pub(crate) fn settled<T>(self, settle: T) -> Quota<C, T> {
        Quota {
            pace: self.pace,
            cost: self.cost,
            settle,
            number: self.number,
        }
    }
}

impl<C, S> fmt::Debug for Quota<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quota")
            .field("pace", &self.pace)
            .finish_non_exhaustive()
    }
}
