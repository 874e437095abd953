use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::behaviour::Behaviour;
use crate::clock::now;
use crate::ledger::Departure;
use crate::model::Model;
use crate::station::Moved;
use crate::visit::{Visit, Waiter};
use crate::{Exhausted, Request, Response};

/// The upstream itself, whatever way its requests come.
#[derive(Debug)]
pub(crate) struct Shared {
    behaviour: Behaviour,
    started: Instant,
    phase: watch::Sender<Phase>,
    room: Notify,
    /// So that what is noted of an arrival and its place go together.
    arriving: Mutex<()>,
    model: Mutex<Model<Waiter>>,
}

/// Whoever holds a receiver of it keeps a shutdown waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    Running,
    Draining,
    Stopped,
}

impl Shared {
    pub(crate) fn new(behaviour: Behaviour, model: Model<Waiter>) -> Self {
        Self {
            behaviour,
            started: now(),
            phase: watch::Sender::new(Phase::Running),
            room: Notify::new(),
            arriving: Mutex::new(()),
            model: Mutex::new(model),
        }
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model<Waiter>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Arrivals take turns.
    pub(crate) fn arriving(&self) -> MutexGuard<'_, ()> {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner)
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

    pub(crate) fn behaviour(&self) -> &Behaviour {
        &self.behaviour
    }

    /// The same with what is left of the rate and of the tokens, if it is to be told.
    pub(crate) fn with_quota(&self, response: Response) -> Response {
        let meters = &self.model().meters;
        self.behaviour.with_quota(response, meters, self.at(now()))
    }

    /// Charges what a request is estimated to cost.
    ///
    /// # Errors
    ///
    /// If so many tokens are not there: when they will be.
    pub(crate) fn charge_tokens(&self, request: &Request) -> Result<u32, Duration> {
        let cost = self.behaviour.estimate(request);
        let mut model = self.model();
        model.meters.charge_tokens(self.at(now()), cost)?;
        model.ledger.charge(cost);
        Ok(cost)
    }

    pub(crate) fn settle_tokens(&self, charged: u32, used: u32) {
        let mut model = self.model();
        model.meters.settle_tokens(self.at(now()), charged, used);
        model.ledger.settle(charged, used);
    }

    /// Since the start.
    pub(crate) fn at(&self, now: Instant) -> Duration {
        now.duration_since(self.started)
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
