use std::io;
use std::sync::Arc;
use std::time::Duration;

use h2::Reason;
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::body::Body;
use crate::clock::now;
use crate::damage::{self, Stop, Way};
use crate::ledger::Departure;
use crate::model::{Model, Noted, Verdict};
use crate::shared::Shared;
use crate::visit::{Bill, Visit, Waiter, Waiting};
use crate::{Act, Fault, Request, Response};

/// A request whose head was read, and what was decided about it then.
pub(crate) struct Arrived<B> {
    shared: Arc<Shared>,
    head: Parts,
    body: B,
    way: Way,
    noted: Noted,
    act: Act,
    place: Place,
}

enum Place {
    Worker(Visit),
    Queue(Waiting),
    Refused,
    Limited(Duration),
    Unanswered(Fault),
}

impl<B> Arrived<B> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        request: http::Request<B>,
        way: Way,
        ignored: bool,
    ) -> Self {
        let (head, body) = request.into_parts();
        let key = shared.behaviour().key(&head);
        // One after the other, without a lock on the model: the script is the user's code.
        let _turn = shared.arriving();
        let arrived = now();
        let noted = note(shared, &head, &key, arrived);
        let act = match shared.behaviour().act(&head, noted.index) {
            Act::AsUsual => noted.fault.into(),
            act => act,
        };
        let act = match act {
            Act::Fault(fault) if !way.has(fault) => Act::AsUsual,
            act => act,
        };
        let fault = match act {
            Act::Fault(fault) => Some(fault),
            Act::AsUsual | Act::Answer(_) => None,
        };
        let place = find_place(shared, noted.index, arrived, fault, ignored);
        Self {
            shared: Arc::clone(shared),
            head,
            body,
            way,
            noted,
            act,
            place,
        }
    }

    /// Why its connection takes no requests after it, and whether it takes this one.
    pub(crate) fn go_away(&self) -> Option<(Reason, bool)> {
        match (&self.place, &self.act) {
            (Place::Unanswered(fault), _) | (_, Act::Fault(fault)) => damage::go_away(*fault),
            _ => None,
        }
    }
}

impl<B> Arrived<B>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// The response, whose body is answered later still.
    ///
    /// # Errors
    ///
    /// If there is to be none.
    pub(crate) async fn answer(self) -> Result<http::Response<Body>, Stop> {
        let Self { shared, head, .. } = self;
        let limited = |wait| shared.behaviour().limit_refusal(wait);
        let visit = match self.place {
            Place::Worker(visit) => Some(visit),
            Place::Queue(waiting) => waiting.turn().await,
            Place::Refused => None,
            Place::Limited(wait) => return Ok(refuse(&shared, &head.method, limited(wait))),
            Place::Unanswered(fault) => return Err(damage::instead(fault)),
        };
        let Some(mut visit) = visit else {
            return Ok(refuse(&shared, &head.method, shared.behaviour().refusal()));
        };
        let body = self.body.collect().await;
        let body = body.map_err(|error| Stop::Unread(io::Error::other(error)))?;
        let request = http::Request::from_parts(head, body.to_bytes());
        let charged = match shared.charge_tokens(&request) {
            Ok(charged) => charged,
            Err(wait) => {
                visit.end(Departure::Limited);
                return Ok(refuse(&shared, request.method(), limited(wait)));
            }
        };
        let (response, fault) = execute(&shared, &request, self.noted, self.act);
        visit.bill(response.tokens().map(|used| Bill { charged, used }));
        let fault = fault.filter(|fault| damage::strikes(*fault, &response, request.method()));
        let answer = Answer {
            status: response.status(),
            fault,
            response: match fault {
                Some(fault) => damage::damage(fault, response, self.way),
                None => Ok(response),
            },
        };
        let time = self.noted.time.saturating_add(answer.delay());
        let visit = serve(&shared, visit, time).await?;
        answer.send(&shared, &request, visit)
    }
}

fn refuse(shared: &Shared, method: &Method, refusal: Response) -> http::Response<Body> {
    shared.model().ledger.answer(refusal.status());
    shared.with_quota(refusal).into_http(method, None)
}

fn note(shared: &Shared, head: &Parts, key: &str, arrived: Instant) -> Noted {
    let time = shared.behaviour().service_time();
    let at = shared.at(arrived);
    shared.model().note(at, &head.method, key, time)
}

fn find_place(
    shared: &Arc<Shared>,
    index: u64,
    arrived: Instant,
    fault: Option<Fault>,
    ignored: bool,
) -> Place {
    let (turn, turned) = oneshot::channel();
    let mut model = shared.model();
    let waiter = || Waiter { arrived, turn };
    match model.judge(index, shared.at(arrived), fault, ignored, waiter) {
        Verdict::Worker => Place::Worker(Visit::new(Arc::clone(shared), Duration::ZERO)),
        Verdict::Queue => Place::Queue(Waiting::new(Arc::clone(shared), index, turned)),
        Verdict::Refused => Place::Refused,
        Verdict::Limited(wait) => Place::Limited(wait),
        Verdict::Unanswered(fault) => Place::Unanswered(fault),
    }
}

fn execute(
    shared: &Shared,
    request: &Request,
    noted: Noted,
    act: Act,
) -> (Response, Option<Fault>) {
    let at = shared.at(now());
    shared.model().ledger.execute(noted.index, at);
    let usual = || match noted.failure {
        Some(status) => Response::new(status),
        None => shared.behaviour().response(request),
    };
    match act {
        Act::AsUsual => (shared.with_quota(usual()), None),
        Act::Answer(response) => (response, None),
        Act::Fault(fault) => (usual(), Some(fault)),
    }
}

async fn serve(shared: &Shared, mut visit: Visit, time: Duration) -> Result<Visit, Stop> {
    if !shared.behaviour().finishes_abandoned_work() {
        visit.serve(time).await;
        return Ok(visit);
    }
    let work = tokio::spawn(async move {
        visit.serve(time).await;
        visit
    });
    work.await
        .map_err(|error| Stop::Unread(io::Error::other(error)))
}

/// What is to be sent when the service time is over.
struct Answer {
    /// As the client would read it.
    status: StatusCode,
    fault: Option<Fault>,
    response: Result<Response, Stop>,
}

impl Answer {
    fn delay(&self) -> Duration {
        self.response
            .as_ref()
            .map_or(Duration::ZERO, Response::delay)
    }

    fn send(
        self,
        shared: &Shared,
        request: &Request,
        visit: Visit,
    ) -> Result<http::Response<Body>, Stop> {
        if !self.enter(&mut shared.model()) {
            visit.end(Departure::Unanswered);
            return Err(Stop::Silence);
        }
        match self.response {
            Ok(response) => Ok(response.into_http(request.method(), Some(visit))),
            Err(stop) => {
                visit.end(match self.fault {
                    Some(Fault::LongBody) => Departure::Served,
                    _ => Departure::Aborted,
                });
                Err(stop)
            }
        }
    }

    /// Whether the client is to hear of it.
    fn enter(&self, model: &mut Model<Waiter>) -> bool {
        if model.silent {
            return false;
        }
        if let Some(fault) = self.fault {
            model.ledger.strike(fault);
        }
        if self.fault != Some(Fault::ResetInHead) {
            model.ledger.answer(self.status);
        }
        true
    }
}
