use std::fmt;
use std::time::Duration;

use tidegate_admission::Door;
use tidegate_classify::Profile;
use tidegate_cooldown::Listener;
use tidegate_core::{Pace, Start, per, per_hour, per_minute, per_second, strict};
use tower_layer::Layer;

use crate::{And, FromBody, FromHead, Hinted, IntoQuota, Quota, Rate, RateHandle};

/// Limits how many requests start per second, minute or hour.
///
/// There is one bucket for each layer that is made: clones of the layer and all services that it
/// makes share it, and the settings below are those of the bucket. See the [crate](crate) for examples.
///
/// A bucket of `burst` tokens gains `rate` of them a second, and a request takes as many as it costs
/// when it is sent. So in every window of length `W` the requests that are sent cost at most
/// `burst + rate · W`: that is the worst case, after a quiet time, and a service that counts in
/// windows of its own sees it. See [`start`](Self::start) for the first of them.
#[derive(Clone)]
pub struct RateLayer<Q = Quota> {
    door: Door,
    quotas: Q,
}

type Added<I> = Quota<<I as IntoQuota>::Cost, <I as IntoQuota>::Settle>;

impl RateLayer {
    /// That pace.
    pub fn new(pace: Pace) -> Self {
        let door = Door::without_limit("rate");
        door.set_pace(Some(pace));
        Self {
            door,
            quotas: pace.into_quota(),
        }
    }

    /// `count` requests per second. At worst `count + 1` in one second, or `count + burst`.
    ///
    /// # Panics
    ///
    /// If `count` is not a finite number above zero.
    #[track_caller]
    pub fn per_second(count: f64) -> Self {
        Self::new(per_second(count))
    }

    /// `count` requests per minute, evenly: one each `60 / count` seconds. At worst `count + 1` in one
    /// minute, or `count + burst`.
    ///
    /// # Panics
    ///
    /// If `count` is not a finite number above zero.
    #[track_caller]
    pub fn per_minute(count: f64) -> Self {
        Self::new(per_minute(count))
    }

    /// `count` requests per hour, evenly: one each `3600 / count` seconds. At worst `count + 1` in one
    /// hour, or `count + burst`.
    ///
    /// # Panics
    ///
    /// If `count` is not a finite number above zero.
    #[track_caller]
    pub fn per_hour(count: f64) -> Self {
        Self::new(per_hour(count))
    }

    /// `count` requests per `duration`, evenly. At worst `count + 1` in one `duration`, or
    /// `count + burst`.
    ///
    /// # Panics
    ///
    /// If `count` is not a finite number above zero, or `duration` is zero.
    #[track_caller]
    pub fn per(count: f64, duration: Duration) -> Self {
        Self::new(per(count, duration))
    }

    /// Never more than `count` in any window of that length: see [`strict`](fn@strict).
    ///
    /// At worst `count` in one `window`, wherever that begins. Every request takes the layer's lock,
    /// and up to 24 KiB hold the times of those that were sent.
    ///
    /// # Panics
    ///
    /// If `count` is 0, or `window` is zero or above 290 years.
    #[track_caller]
    pub fn strict(count: u32, window: Duration) -> Self {
        Self::new(strict(count, window))
    }
}

impl<C, S> RateLayer<Quota<C, S>> {
    /// What each request costs, instead of one: a closure `|request: &Request<_>| …` whose parameter
    /// has its type written out.
    ///
    /// A cost of 0 passes an empty bucket. One above the burst is served when the bucket is full, and
    /// leaves a debt: it holds up those behind it, also a cost of 0, for as long as it costs.
    #[must_use]
    pub fn cost<T>(self, cost: T) -> RateLayer<Quota<T, S>> {
        RateLayer {
            door: self.door,
            quotas: self.quotas.cost(cost),
        }
    }

    /// What a request did cost, from the head of its response: a closure
    /// `|response: &Response<_>| …` that returns an `Option<u32>`.
    ///
    /// What is missing is charged when it is known, and may be a debt; what was too much is given
    /// back, but never more than the bucket would hold had it been known at once. With `None`, or
    /// after an error, what was charged stays. Every request takes the layer's lock.
    #[must_use]
    pub fn settle<F>(self, actual: F) -> RateLayer<Quota<C, FromHead<F>>> {
        self.door.keep_charges();
        RateLayer {
            door: self.door,
            quotas: self.quotas.settled(FromHead(actual)),
        }
    }

    /// The same, from the body: a closure `|body: &[u8]| …` over its last 64 KiB, when it has been
    /// read to its end. A body that is not read to its end leaves what was charged.
    #[must_use]
    pub fn settle_body<F>(self, actual: F) -> RateLayer<Quota<C, FromBody<F>>> {
        self.door.keep_charges();
        RateLayer {
            door: self.door,
            quotas: self.quotas.settled(FromBody(actual)),
        }
    }

    /// How many tokens the bucket holds: what may be sent at once after a quiet time. Default 1.
    ///
    /// # Panics
    ///
    /// If `burst` is 0.
    #[must_use]
    #[track_caller]
    pub fn burst(self, burst: u32) -> Self {
        self.with_pace(|pace| pace.burst(burst))
    }

    /// How full the bucket is when it is made. Default [`Start::Full`].
    #[must_use]
    pub fn start(self, start: Start) -> Self {
        self.with_pace(|pace| pace.start(start))
    }

    /// Not [`Door::set_pace`] alone, which keeps the tokens.
    #[track_caller]
    fn with_pace(self, change: impl FnOnce(Pace) -> Pace) -> Self {
        let pace = self.door.pace().map(change);
        self.door.set_pace(None);
        self.door.set_pace(pace);
        self
    }
}

impl<Q> RateLayer<Q> {
    /// Another quota beside those that there are: a request waits until all of them let it go, and is
    /// charged by all or by none. At most 8.
    ///
    /// Every request takes the layer's lock.
    ///
    /// # Panics
    ///
    /// If there are 8 already.
    #[must_use]
    #[track_caller]
    pub fn and<I: IntoQuota>(self, quota: I) -> RateLayer<And<Q, Added<I>>> {
        let mut quota = quota.into_quota();
        quota.number = self.door.add_pace(quota.pace);
        RateLayer {
            door: self.door,
            quotas: And(self.quotas, quota),
        }
    }

    /// How many may wait at most; whoever comes then is refused at once. Default: no bound.
    #[must_use]
    pub fn max_queue(self, max_queue: usize) -> Self {
        self.door.set_max_queue(max_queue);
        self
    }

    /// How long one may wait at most. Whoever cannot be served in time is refused at once and leaves
    /// no trace. Default: for ever.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        self.door.set_max_wait(Some(max_wait));
        self
    }

    /// Pauses when the service asks for it, or says that nothing remains of a quota: see
    /// [`tidegate_cooldown`]. The paces stay as they were set. For HTTP responses; the last of the
    /// settings.
    #[must_use]
    pub fn hints(self, profile: Profile) -> RateLayer<Hinted<Q>> {
        let listener = Listener::new(self.door.clone(), profile).only_pausing();
        RateLayer {
            quotas: Hinted::new(self.quotas, listener),
            door: self.door,
        }
    }

    /// How long anybody waits at most for the end of a pause that the service asked for; who would
    /// have to wait longer is refused at once, with when to try again. Default 60 s.
    #[must_use]
    pub fn longest_pause(self, longest: Duration) -> Self {
        self.door.set_longest_pause(longest);
        self
    }

    /// Watches and moves this rate while it runs.
    pub fn handle(&self) -> RateHandle {
        RateHandle::new(self.door.clone())
    }
}

impl<S, Q: Clone> Layer<S> for RateLayer<Q> {
    type Service = Rate<S, Q>;

    fn layer(&self, inner: S) -> Rate<S, Q> {
        Rate::new(inner, self.door.clone(), self.quotas.clone())
    }
}

impl<Q> fmt::Debug for RateLayer<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLayer")
            .field("door", &self.door)
            .finish_non_exhaustive()
    }
}
