use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::request::Parts;

use crate::meters::Meters;
use crate::openai;
use crate::{Act, Request, Response, ServiceTime};

type Respond = Box<dyn Fn(&Request) -> Response + Send + Sync>;
type Estimate = Box<dyn Fn(&Request) -> u32 + Send + Sync>;
type Script = Box<dyn Fn(&Parts, u64) -> Act + Send + Sync>;
type Key = Box<dyn Fn(&Parts) -> String + Send + Sync>;

/// In whose fields an upstream says how its meters stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Ietf,
    OpenAi,
}

/// How an upstream treats each request.
pub(crate) struct Behaviour {
    pub(crate) service_time: ServiceTime,
    pub(crate) refusal: Response,
    pub(crate) limit_refusal: Response,
    pub(crate) tells_retry_after: bool,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) respond: Respond,
    pub(crate) script: Option<Script>,
    pub(crate) key: Option<Key>,
    pub(crate) finish_abandoned_work: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            service_time: ServiceTime::Fixed(Duration::ZERO),
            refusal: Response::new(503),
            limit_refusal: Response::new(429),
            tells_retry_after: false,
            dialect: None,
            estimate: None,
            respond: Box::new(|_| Response::new(200)),
            script: None,
            key: None,
            finish_abandoned_work: false,
        }
    }
}

impl Behaviour {
    pub(crate) fn service_time(&self) -> ServiceTime {
        self.service_time
    }

    pub(crate) fn refusal(&self) -> Response {
        self.refusal.clone()
    }

    /// What a meter says that has room again after `wait`.
    pub(crate) fn limit_refusal(&self, wait: Duration) -> Response {
        let mut response = self.limit_refusal.clone();
        if wait == Duration::MAX {
            return response;
        }
        if self.dialect == Some(Dialect::OpenAi) {
            response = openai::with_wait(response, wait);
        }
        if !self.tells_retry_after {
            return response;
        }
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response.header(RETRY_AFTER.as_str(), &seconds.to_string())
    }

    /// The same with how the meters stand.
    pub(crate) fn with_quota(&self, response: Response, meters: &Meters, at: Duration) -> Response {
        match self.dialect {
            None => response,
            Some(Dialect::OpenAi) => openai::with_levels(response, meters.levels(at)),
            Some(Dialect::Ietf) => {
                let Some((per_second, left)) = meters.bucket(at) else {
                    return response;
                };
                response
                    .header("ratelimit-policy", &format!(r#""rate";q={per_second};w=1"#))
                    .header("ratelimit", &format!(r#""rate";r={left};t=1"#))
            }
        }
    }

    /// Nothing where tokens are not counted.
    pub(crate) fn estimate(&self, request: &Request) -> u32 {
        self.estimate
            .as_ref()
            .map_or(0, |estimate| estimate(request))
    }

    pub(crate) fn response(&self, request: &Request) -> Response {
        (self.respond)(request)
    }

    pub(crate) fn act(&self, head: &Parts, nth: u64) -> Act {
        self.script
            .as_ref()
            .map_or(Act::AsUsual, |script| script(head, nth))
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
