use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt;
use rand::rngs::Xoshiro256PlusPlus;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use crate::Exhausted;
use crate::body::Body;
use crate::builder::Behaviour;
use crate::clock::now;
use crate::ledger::{Departure, Ledger};
use crate::station::{Admission, Moved, Station};
use crate::visit::{Visit, Waiter, Waiting};

/// The upstream itself, whatever way its requests come.
#[derive(Debug)]
pub(crate) struct Shared {
    behaviour: Behaviour,
    started: Instant,
    phase: watch::Sender<Phase>,
    room: Notify,
    model: Mutex<Model>,
}

/// Whoever holds a receiver of it keeps a shutdown waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    Running,
    Draining,
    Stopped,
}

/// All that moves, behind one lock: the draw, the index and the place of an arrival go together.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) station: Station<Waiter>,
    pub(crate) ledger: Ledger,
    pub(crate) rng: Xoshiro256PlusPlus,
}

enum Place {
    Worker(Visit),
    Queue(Waiting),
    Refused,
}

impl Shared {
    pub(crate) fn new(behaviour: Behaviour, model: Model) -> Self {
        Self {
            behaviour,
            started: now(),
            phase: watch::Sender::new(Phase::Running),
            room: Notify::new(),
            model: Mutex::new(model),
        }
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
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

    /// The response to a request, whose body is answered later still.
    ///
    /// # Errors
    ///
    /// If the request's body cannot be read.
    pub(crate) async fn answer<B>(
        self: Arc<Self>,
        request: http::Request<B>,
    ) -> io::Result<http::Response<Body>>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let (place, time) = self.arrive(&head);
        let visit = match place {
            Place::Worker(visit) => Some(visit),
            Place::Queue(waiting) => waiting.turn().await,
            Place::Refused => None,
        };
        let Some(visit) = visit else {
            return Ok(self.behaviour.refusal().into_http(&head.method, None));
        };
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let request = http::Request::from_parts(head, body);
        let response = self.behaviour.response(&request);
        let visit = self.serve(visit, time + response.delay()).await?;
        Ok(response.into_http(request.method(), Some(visit)))
    }

    async fn serve(&self, mut visit: Visit, time: Duration) -> io::Result<Visit> {
        if !self.behaviour.finishes_abandoned_work() {
            visit.serve(time).await;
            return Ok(visit);
        }
        let work = tokio::spawn(async move {
            visit.serve(time).await;
            visit
        });
        work.await.map_err(io::Error::other)
    }

    fn arrive(self: &Arc<Self>, head: &http::request::Parts) -> (Place, Duration) {
        let key = self.behaviour.key(head);
        let mut model = self.model();
        let model = &mut *model;
        let arrived = now();
        let at = arrived.duration_since(self.started);
        let index = model.ledger.arrive(at, &head.method, &key);
        let time = self.behaviour.service_time().draw(&mut model.rng);
        let (turn, turned) = oneshot::channel();
        let admission = model.station.arrive(index, || Waiter { arrived, turn });
        let place = match admission {
            Admission::Worker => Place::Worker(Visit::new(Arc::clone(self), Duration::ZERO)),
            Admission::Queue => Place::Queue(Waiting::new(Arc::clone(self), index, turned)),
            Admission::Refused => {
                model.ledger.depart(Departure::Refused);
                Place::Refused
            }
        };
        (place, time)
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
