use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;

use crate::background::Background;
use crate::behaviour::{Behaviour, Dialect};
use crate::bucket::Bucket;
use crate::ledger::Ledger;
use crate::meters::Meters;
use crate::model::Model;
use crate::shared::Shared;
use crate::station::Station;
use crate::window::Window;
use crate::{Act, Fault, Response, ServiceTime};

/// A request as a worker reads it, body included.
pub type Request = http::Request<Bytes>;

/// How an [`Upstream`](crate::Upstream) will behave; start it to have one.
#[derive(Debug)]
#[must_use = "it does nothing before it is started"]
pub struct UpstreamBuilder {
    workers: usize,
    queue: usize,
    seed: u64,
    log: usize,
    background: Background,
    meters: Meters,
    behaviour: Behaviour,
}

impl UpstreamBuilder {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers,
            queue: usize::MAX,
            seed: 0,
            log: 100_000,
            background: Background::new(),
            meters: Meters::default(),
            behaviour: Behaviour::default(),
        }
    }

    /// How many requests wait for a worker; more are refused at once. 0 is pure loss. Default: all.
    pub fn queue(self, queue: usize) -> Self {
        Self { queue, ..self }
    }

    /// How long a worker is busy with one request, up to its response's head. Default: no time.
    ///
    /// # Panics
    ///
    /// If a mean is zero, or another number is outside its range.
    #[track_caller]
    pub fn service_time(mut self, service_time: ServiceTime) -> Self {
        if let Some(rule) = service_time.nonsense() {
            panic!("{rule}, not {service_time:?}");
        }
        self.behaviour.service_time = service_time;
        self
    }

    /// Of all that is drawn. Default 0.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// A token bucket of so many requests per second on average, and as many at once as `burst`. A
    /// request over it is refused at once with 429, before it comes to the workers, and takes no
    /// token; one that the workers refuse has taken its token. A rate of 0 (or below, or not a number)
    /// passes nobody. Default: no limit.
    ///
    /// It counts whole nanoseconds, as of when the heads are read. The worst case: any half-open window
    /// `w` passes at most `burst + ⌈w · per_second⌉ − 1`.
    ///
    /// # Panics
    ///
    /// If `burst` is 0.
    #[track_caller]
    pub fn rate(mut self, per_second: f64, burst: u32) -> Self {
        self.meters.set_bucket(Bucket::new(per_second, burst));
        self
    }

    /// At most `limit` requests in each window of that length; the windows follow one another from the
    /// upstream's start. Over it as over the [`rate`](Self::rate). Several may stand together and with
    /// a rate: a request is charged to all of them, or to none. Default: none.
    ///
    /// The worst case: twice the limit within one `length`, across the edge of two windows.
    ///
    /// # Panics
    ///
    /// If `length` is zero.
    #[track_caller]
    pub fn window(mut self, limit: u64, length: Duration) -> Self {
        self.meters.add_window(Window::new(limit, length));
        self
    }

    /// A second token bucket, of which a request takes more than one, as services of language models
    /// have it: so many tokens per second on average, and as many at once as `burst`. Default: none.
    ///
    /// `estimate` says what a request may cost, and is charged when a worker has read it; what it did
    /// cost is told by [`Response::used`], and corrects that when the response has ended. A request for
    /// which there is not enough is refused as by the [`rate`](Self::rate), but has been charged there;
    /// one above the burst always is.
    ///
    /// OpenAI charges `max(max_tokens, characters / 4)`, and counts requests that fail (guide to rate
    /// limits). That it corrects the estimate later is not said there; Anthropic says so of its output
    /// tokens.
    ///
    /// ```
    /// use tidegate_testkit::{Response, Upstream};
    ///
    /// // 500 requests and 200,000 tokens a minute.
    /// let model = Upstream::unlimited()
    ///     .rate(500.0 / 60.0, 500)
    ///     .tokens(200_000.0 / 60.0, 200_000, |request| request.body().len() as u32 / 4)
    ///     .openai_fields()
    ///     .respond(|_| Response::new(200).body(r#"{"usage":{"total_tokens":12}}"#).used(12));
    /// ```
    ///
    /// # Panics
    ///
    /// If `burst` is 0.
    #[track_caller]
    pub fn tokens(
        mut self,
        per_second: f64,
        burst: u32,
        estimate: impl Fn(&Request) -> u32 + Send + Sync + 'static,
    ) -> Self {
        self.meters.set_tokens(Bucket::new(per_second, burst));
        self.behaviour.estimate = Some(Box::new(estimate));
        self
    }

    /// Adds OpenAI's fields to each response: `x-ratelimit-limit-`, `-remaining-` and `-reset-`, each of
    /// `requests` for the [`rate`](Self::rate) and of `tokens` for the [`tokens`](Self::tokens), as they
    /// are when its head is made. The limit is what the bucket holds, the reset when it is full. Refusals
    /// of both have `retry-after-ms`. A response of a script or with a fault has none. In place of the
    /// [IETF's](Self::rate_limit_fields).
    pub fn openai_fields(mut self) -> Self {
        self.behaviour.dialect = Some(Dialect::OpenAi);
        self
    }

    /// Answers like this to a request over the rate, a window or the tokens. Default 429.
    pub fn limit_refusal(mut self, response: Response) -> Self {
        self.behaviour.limit_refusal = response;
        self
    }

    /// Adds `retry-after` to the refusals of the rate, the windows and the tokens: the whole seconds, rounded up,
    /// until there would be room if nobody else came.
    pub fn retry_after(mut self) -> Self {
        self.behaviour.tells_retry_after = true;
        self
    }

    /// Adds the `RateLimit` fields of the IETF's draft (draft-ietf-httpapi-ratelimit-headers-10) to each
    /// response, for the [`rate`](Self::rate): how many it passes in a second, rounded down, and how many
    /// are left when its head is made. `t` is always that second. A response of a script or with a fault has
    /// none.
    pub fn rate_limit_fields(mut self) -> Self {
        self.behaviour.dialect = Some(Dialect::Ietf);
        self
    }

    /// Lets a share of requests (`0.0..=1.0`) fail after their service time, with that status, without
    /// any load; they count as executed. Default: none.
    ///
    /// # Panics
    ///
    /// If a number is outside its range.
    #[track_caller]
    pub fn fail(mut self, share: f64, status: u16) -> Self {
        assert_share(share);
        let _ = Response::new(status);
        self.background.fail(share, status);
        self
    }

    /// Lets a share of requests (`0.0..=1.0`) meet one of these faults, each as often as the others,
    /// unless their [`script`](Self::script) says something about them. One that does not apply to the
    /// request's version is left out. Default: none.
    ///
    /// # Panics
    ///
    /// If `share` is outside its range.
    #[track_caller]
    pub fn faults(mut self, share: f64, faults: impl Into<Vec<Fault>>) -> Self {
        assert_share(share);
        self.background.fault(share, faults.into());
        self
    }

    /// Answers like this to a request that finds no room. Default 503.
    pub fn refusal(mut self, response: Response) -> Self {
        self.behaviour.refusal = response;
        self
    }

    /// A [`refusal`](Self::refusal) that is only a status.
    ///
    /// # Panics
    ///
    /// If `status` is not within `100..=999`.
    #[track_caller]
    pub fn refusal_status(self, status: u16) -> Self {
        self.refusal(Response::new(status))
    }

    /// Asks this about each request as it arrives, with how many arrived before it: a response of
    /// its own, a [`Fault`], or neither. Default: neither.
    ///
    /// ```
    /// use tidegate_testkit::{Act, Fault, Response, Upstream};
    ///
    /// let first_is_refused = Upstream::unlimited()
    ///     .script(|_, nth| (nth == 0).then_some(Fault::RefusedStream));
    /// let in_turn = Upstream::unlimited().script(|_, nth| match nth {
    ///     0 => Response::new(503).header("retry-after", "1").into(),
    ///     1 => Fault::ResetBeforeHead.into(),
    ///     _ => Act::AsUsual,
    /// });
    /// ```
    pub fn script<A: Into<Act>>(
        mut self,
        script: impl Fn(&Parts, u64) -> A + Send + Sync + 'static,
    ) -> Self {
        self.behaviour.script = Some(Box::new(move |head, nth| script(head, nth).into()));
        self
    }

    /// Answers like this. Called when a worker takes the request, before its service time. Default:
    /// 200 with an empty body.
    pub fn respond(
        mut self,
        respond: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> Self {
        self.behaviour.respond = Box::new(respond);
        self
    }

    /// Names requests in the report. Default: the path.
    pub fn key(mut self, key: impl Fn(&Parts) -> String + Send + Sync + 'static) -> Self {
        self.behaviour.key = Some(Box::new(key));
        self
    }

    /// Serves on when the client has left: the worker stays busy to the end of the service time, as
    /// it does where the work is not asynchronous. By default it stops at once, as a handler of an
    /// asynchronous server does. Whoever leaves the queue is gone in both.
    pub fn finish_abandoned_work(mut self) -> Self {
        self.behaviour.finish_abandoned_work = true;
        self
    }

    /// How many arrivals are logged, and how many keys are counted; the first ones are kept.
    /// Default 100,000.
    pub fn log(self, log: usize) -> Self {
        Self { log, ..self }
    }

    pub(crate) fn open(self) -> Arc<Shared> {
        let station = Station::new(self.workers, self.queue);
        let ledger = Ledger::new(self.log);
        let mut model = Model::new(station, ledger, self.background, self.seed);
        model.meters = self.meters;
        Arc::new(Shared::new(self.behaviour, model))
    }
}

#[track_caller]
fn assert_share(share: f64) {
    assert!(
        (0.0..=1.0).contains(&share),
        "a share is within 0.0..=1.0, not {share}"
    );
}
