use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use h2::Reason;
use http::Method;
use http::request::Parts;
use http_body_util::BodyExt;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::body::Body;
use crate::builder::Behaviour;
use crate::clock::now;
use crate::damage::{Stop, Way, damage, instead, strikes};
use crate::ledger::Departure;
use crate::model::{Model, Noted, Verdict};
use crate::station::Moved;
use crate::visit::{Visit, Waiter, Waiting};
use crate::{Act, Exhausted, Fault, Request, Response};

/// The upstream itself, whatever way its requests come.
#[derive(Debug)]
pub(crate) struct Shared {
    behaviour: Behaviour,
    started: Instant,
    phase: watch::Sender<Phase>,
    room: Notify,
    model: Mutex<Model<Waiter>>,
}

/// Whoever holds a receiver of it keeps a shutdown waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    Running,
    Draining,
    Stopped,
}

enum Place {
    Worker(Visit),
    Queue(Waiting),
    None,
}

/// A request that has arrived and waits for its answer.
pub(crate) struct Arrived<B> {
    head: Parts,
    body: B,
    noted: Noted,
    act: Act,
    way: Way,
    verdict: Verdict,
    place: Place,
}

impl<B> Arrived<B> {
    pub(crate) fn is_last_before_go_away(&self) -> bool {
        let last = Fault::GoAway { processed: true };
        matches!(self.act, Act::Fault(fault) if fault == last)
            && !matches!(self.verdict, Verdict::Unanswered(_))
    }

    /// For which reason its stream is the first one that is not processed, if it is.
    pub(crate) fn goes_away(&self) -> Option<Reason> {
        match self.verdict {
            Verdict::Unanswered(fault) => match instead(fault) {
                Stop::GoAway(reason) => Some(reason),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Shared {
    pub(crate) fn new(behaviour: Behaviour, model: Model<Waiter>) -> Self {
        Self {
            behaviour,
            started: now(),
            phase: watch::Sender::new(Phase::Running),
            room: Notify::new(),
            model: Mutex::new(model),
        }
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model<Waiter>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// # Errors
    ///
    /// As a client sees it whose server is gone.
    pub(crate) fn connect(&self) -> io::Result<watch::Receiver<Phase>> {
        let phase = self.subscribe();
        let running = *phase.borrow() == Phase::Running;
        running
            .then_some(phase)
            .ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }

    /// Never goes back to an earlier one.
    pub(crate) fn go_to(&self, phase: Phase) {
        self.phase.send_if_modified(|current| {
            let later = phase > *current;
            if later {
                *current = phase;
            }
            later
        });
    }

    /// When everything that holds a receiver is gone.
    pub(crate) async fn closed(&self) {
        self.phase.closed().await;
    }

    /// What has become of a request when its head is read. `ignored` is one that a server would not
    /// read any more.
    pub(crate) fn arrive<B>(
        self: &Arc<Self>,
        request: http::Request<B>,
        way: Way,
        ignored: bool,
    ) -> Arrived<B> {
        let (head, body) = request.into_parts();
        let noted = self.note(&head);
        // Outside the lock: it is the user's code.
        let act = match self.behaviour.act(&head, noted.index) {
            Act::Fault(fault) if !way.has(fault) => Act::AsUsual,
            act => act,
        };
        let fault = match act {
            Act::Fault(fault) => Some(fault),
            _ => None,
        };
        let (verdict, place) = self.judge(noted.index, fault, ignored);
        Arrived {
            head,
            body,
            noted,
            act,
            way,
            verdict,
            place,
        }
    }

    fn note(&self, head: &Parts) -> Noted {
        let key = self.behaviour.key(head);
        let time = self.behaviour.service_time();
        let mut model = self.model();
        model.note(self.at(now()), &head.method, &key, time)
    }

    fn judge(
        self: &Arc<Self>,
        index: u64,
        fault: Option<Fault>,
        ignored: bool,
    ) -> (Verdict, Place) {
        let (turn, turned) = oneshot::channel();
        let mut model = self.model();
        let arrived = now();
        let verdict = if ignored {
            model.ignore()
        } else {
            model.judge(index, self.at(arrived), fault, || Waiter { arrived, turn })
        };
        let place = match verdict {
            Verdict::Worker => Place::Worker(Visit::new(Arc::clone(self), Duration::ZERO)),
            Verdict::Queue => Place::Queue(Waiting::new(Arc::clone(self), index, turned)),
            Verdict::Refused | Verdict::Limited(_) | Verdict::Unanswered(_) => Place::None,
        };
        (verdict, place)
    }

    fn at(&self, now: Instant) -> Duration {
        now.duration_since(self.started)
    }

    /// The response to a request, whose body is answered later still.
    ///
    /// # Errors
    ///
    /// If there is to be none.
    pub(crate) async fn answer<B>(
        self: Arc<Self>,
        arrived: Arrived<B>,
    ) -> Result<http::Response<Body>, Stop>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Arrived {
            head, body, place, ..
        } = arrived;
        let visit = match place {
            Place::Worker(visit) => Some(visit),
            Place::Queue(waiting) => waiting.turn().await,
            Place::None => None,
        };
        let Some(visit) = visit else {
            return self.refuse(&head.method, arrived.verdict);
        };
        let body = body.collect().await;
        let body = body.map_err(|error| Stop::Unread(io::Error::other(error)))?;
        let request = http::Request::from_parts(head, body.to_bytes());
        let (response, fault) = self.execute(&request, arrived.noted, arrived.act);
        let fault = fault.filter(|fault| strikes(*fault, &response, request.method()));
        let damaged = match fault {
            Some(fault) => damage(fault, response, arrived.way),
            None => Ok(response),
        };
        let delay = damaged.as_ref().map_or(Duration::ZERO, Response::delay);
        let visit = self.serve(visit, arrived.noted.time + delay).await?;
        self.send(damaged, fault, request.method(), visit)
    }

    fn refuse(&self, method: &Method, verdict: Verdict) -> Result<http::Response<Body>, Stop> {
        let refusal = match verdict {
            Verdict::Unanswered(fault) => return Err(instead(fault)),
            Verdict::Limited(wait) => self.behaviour.limit_refusal(wait),
            Verdict::Refused | Verdict::Worker | Verdict::Queue => self.behaviour.refusal(),
        };
        self.model().ledger.answer(refusal.status());
        Ok(refusal.into_http(method, None))
    }

    fn execute(&self, request: &Request, noted: Noted, act: Act) -> (Response, Option<Fault>) {
        let at = self.at(now());
        self.model().ledger.execute(noted.index, at);
        let usual = || match noted.failure {
            Some(status) => Response::new(status),
            None => self.behaviour.response(request),
        };
        match act {
            Act::Answer(response) => (response, None),
            Act::Fault(fault) => (usual(), Some(fault)),
            Act::AsUsual => (usual(), None),
        }
    }

    async fn serve(&self, mut visit: Visit, time: Duration) -> Result<Visit, Stop> {
        if !self.behaviour.finishes_abandoned_work() {
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

    fn send(
        &self,
        damaged: Result<Response, Stop>,
        fault: Option<Fault>,
        method: &Method,
        visit: Visit,
    ) -> Result<http::Response<Body>, Stop> {
        let mut model = self.model();
        if model.silent {
            drop(model);
            visit.end(Departure::Unanswered);
            return Err(Stop::Silence);
        }
        if let Some(fault) = fault {
            model.ledger.strike(fault);
        }
        match damaged {
            Ok(response) => {
                model.ledger.answer(response.status());
                drop(model);
                Ok(response.into_http(method, Some(visit)))
            }
            Err(stop) => {
                drop(model);
                visit.end(Departure::Aborted);
                Err(stop)
            }
        }
    }

    /// Frees a worker, whose last service time was told `late`.
    pub(crate) fn leave(self: &Arc<Self>, how: Departure, late: Duration) {
        let next = {
            let mut model = self.model();
            model.ledger.depart(how);
            model.station.release()
        };
        if let Some(waiter) = next {
            let waited = now().duration_since(waiter.arrived);
            self.call(waiter, late.min(waited));
        }
    }

    /// A waiter that is gone drops its visit, which calls the next.
    fn call(self: &Arc<Self>, waiter: Waiter, late: Duration) {
        drop(waiter.turn.send(Visit::new(Arc::clone(self), late)));
    }

    pub(crate) fn leave_queue(&self, index: u64) {
        let mut model = self.model();
        if model.station.leave_queue(index).is_some() {
            model.ledger.depart(Departure::Cancelled);
        }
    }

    pub(crate) fn set_capacity(self: &Arc<Self>, capacity: f64) {
        let moved = {
            let mut model = self.model();
            let moved = model.station.set_capacity(capacity);
            if let Moved::Refused(refused) = &moved {
                for _ in refused {
                    model.ledger.depart(Departure::Refused);
                }
            }
            moved
        };
        if let Moved::ToWorkers(waiters) = moved {
            for waiter in waiters {
                self.call(waiter, Duration::ZERO);
            }
        }
    }

    pub(crate) fn set_rate(&self, per_second: f64) {
        let mut model = self.model();
        let at = self.at(now());
        model.meters.set_rate(at, per_second);
    }

    /// A connection could not be accepted. If that is for lack of descriptors, kept connections give
    /// theirs back.
    pub(crate) fn accept_error(&self, error: &io::Error) {
        self.model().ledger.accept_error(error);
        if Exhausted::find(error).is_some() {
            self.room.notify_waiters();
        }
    }

    pub(crate) async fn room_wanted(&self) {
        self.room.notified().await;
    }
}
