use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::clock::{TICK, now};
use crate::ledger::Departure;
use crate::shared::{Phase, Shared};

/// A request at a worker. The worker is free again when it ends or is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    shared: Arc<Shared>,
    /// How late the last timer told that a service time was over: of the request before until this
    /// one is served. The next service time is shorter by that, so that a saturated worker keeps its
    /// rate although timers count whole milliseconds.
    late: Duration,
    how: Departure,
    bill: Option<Bill>,
    /// A shutdown waits for it.
    _inside: watch::Receiver<Phase>,
}

impl Visit {
    pub(crate) fn new(shared: Arc<Shared>, late: Duration) -> Self {
        Self {
            _inside: shared.subscribe(),
            shared,
            late,
            how: Departure::Cancelled,
            bill: None,
        }
    }

    pub(crate) async fn serve(&mut self, time: Duration) {
        let Some(rest) = time.checked_sub(self.late) else {
            self.late -= time;
            return;
        };
        let due = now() + rest;
        if !rest.is_zero() {
            sleep_until(due).await;
        }
        self.late = now().duration_since(due).min(TICK);
    }

    /// Settled when it ends.
    pub(crate) fn bill(&mut self, bill: Option<Bill>) {
        self.bill = bill;
    }

    pub(crate) fn end(mut self, how: Departure) {
        self.how = how;
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(Bill { charged, used }) = self.bill {
            self.shared.settle_tokens(charged, used);
        }
        self.shared.leave(self.how, self.late);
    }
}

/// The tokens of a request, and what its response says that it did use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bill {
    pub(crate) charged: u32,
    pub(crate) used: u32,
}

/// What stands in the queue for a request.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) arrived: Instant,
    pub(crate) turn: oneshot::Sender<Visit>,
}

/// A request in the queue. It leaves the queue when this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    shared: Arc<Shared>,
    index: u64,
    turn: oneshot::Receiver<Visit>,
}

impl Waiting {
    pub(crate) fn new(shared: Arc<Shared>, index: u64, turn: oneshot::Receiver<Visit>) -> Self {
        Self {
            shared,
            index,
            turn,
        }
    }

    /// `None` if it was refused after all, by an outage.
    pub(crate) async fn turn(mut self) -> Option<Visit> {
        (&mut self.turn).await.ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.leave_queue(self.index);
    }
}
