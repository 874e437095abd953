use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::ledger::Ledger;
use crate::shared::{Model, Shared};
use crate::station::Station;
use crate::{Response, ServiceTime};

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
    behaviour: Behaviour,
}

type Respond = Box<dyn Fn(&Request) -> Response + Send + Sync>;
type Key = Box<dyn Fn(&Parts) -> String + Send + Sync>;

/// How an upstream treats each request.
pub(crate) struct Behaviour {
    service_time: ServiceTime,
    refusal: Response,
    respond: Respond,
    key: Option<Key>,
    finish_abandoned_work: bool,
}

impl UpstreamBuilder {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            workers,
            queue: usize::MAX,
            seed: 0,
            log: 100_000,
            behaviour: Behaviour {
                service_time: ServiceTime::Fixed(Duration::ZERO),
                refusal: Response::new(503),
                respond: Box::new(|_| Response::new(200)),
                key: None,
                finish_abandoned_work: false,
            },
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

    /// Answers like this to a request that finds no room. Default 503.
    ///
    /// # Panics
    ///
    /// If `status` is not within `100..=999`.
    #[track_caller]
    pub fn refusal_status(mut self, status: u16) -> Self {
        self.behaviour.refusal = Response::new(status);
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
        let model = Model {
            station: Station::new(self.workers, self.queue),
            ledger: Ledger::new(self.log),
            rng: Xoshiro256PlusPlus::seed_from_u64(self.seed),
        };
        Arc::new(Shared::new(self.behaviour, model))
    }
}

impl Behaviour {
    pub(crate) fn service_time(&self) -> ServiceTime {
        self.service_time
    }

    pub(crate) fn refusal(&self) -> Response {
        self.refusal.clone()
    }

    pub(crate) fn response(&self, request: &Request) -> Response {
        (self.respond)(request)
    }

    pub(crate) fn key<'a>(&self, head: &'a Parts) -> Cow<'a, str> {
        match &self.key {
            Some(key) => key(head).into(),
            None => head.uri.path().into(),
        }
    }

    pub(crate) fn finishes_abandoned_work(&self) -> bool {
        self.finish_abandoned_work
    }
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behaviour")
            .field("service_time", &self.service_time)
            .field("refusal", &self.refusal)
            .field("finish_abandoned_work", &self.finish_abandoned_work)
            .finish_non_exhaustive()
    }
}
