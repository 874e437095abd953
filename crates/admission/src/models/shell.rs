//! What the door is around an admission, for the model checkers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::task::{Context, Poll, Waker, ready};

use crate::admission::{Admission, Entered, Entry, Request};
use crate::effects::Effects;
use crate::leases::Lease;
use crate::primitives::Primitives;
use crate::refusal::Refusal;
use crate::waiter::Ticket;

/// An admission with a clock of its own, which jumps to whatever the timer is armed for.
///
/// What the checker is not to see (the clock, the count of the oracle) is in plain atomics.
pub(super) struct Shell<P: Primitives> {
    pub(super) admission: Admission<P>,
    clock: AtomicU64,
    /// The timer does not fire for what is later.
    horizon: u64,
    inside: AtomicUsize,
    entered: AtomicUsize,
    /// Never more than so many inside.
    most: usize,
}

impl<P: Primitives> Shell<P> {
    /// No timer fires.
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Self::timed(limit, 0)
    }

    /// Timers up to `horizon` fire at once.
    pub(super) fn timed(limit: usize, horizon: u64) -> Arc<Self> {
        Self::resized(limit, limit, horizon)
    }

    /// With a limit that will be at most `most`.
    pub(super) fn resized(limit: usize, most: usize, horizon: u64) -> Arc<Self> {
        Self::of(Admission::new(limit, 1), most, horizon)
    }

    /// Without a limit.
    pub(super) fn uncounted(horizon: u64) -> Arc<Self> {
        Self::of(Admission::uncounted(1), usize::MAX, horizon)
    }

    fn of(admission: Admission<P>, most: usize, horizon: u64) -> Arc<Self> {
        Arc::new(Self {
            admission,
            clock: AtomicU64::new(0),
            horizon,
            inside: AtomicUsize::new(0),
            entered: AtomicUsize::new(0),
            most,
        })
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.load(SeqCst)
    }

    pub(super) fn jump(&self, to: u64) {
        self.clock.fetch_max(to, SeqCst);
    }

    pub(super) fn apply(&self, mut effects: Effects) {
        while let Some(at) = effects.arm.take().filter(|&at| at <= self.horizon) {
            self.jump(at);
            effects.append(self.admission.on_timer(&|| self.now()));
        }
        effects.wake_all();
    }

    pub(super) fn fire(&self) {
        let effects = self.admission.on_timer(&|| self.now());
        self.apply(effects);
    }

    pub(super) fn try_acquire(self: &Arc<Self>, cost: u32) -> Option<Inside<P>> {
        let request = Request {
            cost,
            costs: None,
            waker: None,
            thread: false,
            until: u64::MAX,
        };
        if let Some(entry) = self.admission.try_enter(cost, || self.now()) {
            return Some(Inside::new(self, entry));
        }
        let (entered, effects) = self.admission.enter(request, &|| self.now());
        self.apply(effects);
        match entered {
            Entered::Yes(entry) => Some(Inside::new(self, entry)),
            Entered::No(_) => None,
            Entered::Waits(_) => unreachable!("one without a waker does not wait"),
        }
    }

    pub(super) fn acquire(self: &Arc<Self>, cost: u32) -> Wait<P> {
        Wait {
            shell: Arc::clone(self),
            cost,
            ticket: None,
            thread: false,
        }
    }

    /// As a thread that parks.
    pub(super) fn acquire_blocking(self: &Arc<Self>, cost: u32) -> Wait<P> {
        let mut wait = self.acquire(cost);
        wait.thread = true;
        wait
    }

    pub(super) fn set_limit(&self, limit: usize) {
        let effects = self.admission.set_limit(limit, &|| self.now());
        self.apply(effects);
    }

    pub(super) fn set_pace(&self, pace: tidegate_core::Pace) {
        let effects = self.admission.set_pace(Some(pace), &|| self.now());
        self.apply(effects);
    }

    pub(super) fn lift_pace(&self) {
        let effects = self.admission.set_pace(None, &|| self.now());
        self.apply(effects);
    }

    pub(super) fn pause_until(&self, until: u64) {
        let effects = self.admission.pause_until(until, &|| self.now());
        self.apply(effects);
    }

    pub(super) fn cool_down(&self, until: u64) {
        let effects = self.admission.cool_down(until, &|| self.now());
        self.apply(effects);
    }

    pub(super) fn end_pause(&self) {
        let effects = self.admission.end_pause(&|| self.now());
        self.apply(effects);
    }

    pub(super) fn close(&self) {
        let effects = self.admission.close(&|| self.now());
        self.apply(effects);
    }

    pub(super) fn leave(&self, _entry: Entry) {
        if let Some(spare) = self.admission.leave() {
            let effects = self.admission.leave_slow(spare, &|| self.now());
            self.apply(effects);
        }
    }

    /// When so many tokens are there, if nobody takes any.
    pub(super) fn due(&self, cost: u64) -> u64 {
        self.admission.due(cost)
    }

    /// How many have entered so far.
    pub(super) fn entered(&self) -> usize {
        self.entered.load(SeqCst)
    }

    pub(super) fn waiting(&self) -> usize {
        self.admission.with_queue(|queue| queue.ring.waiting())
    }

    /// The oracle at the end: nobody inside, nobody in the queue, and exactly `limit` can enter.
    pub(super) fn assert_free(self: &Arc<Self>, limit: usize) {
        let left = self.admission.with_queue(|queue| queue.ring.waiting());
        assert_eq!(left, 0, "still waiting");
        assert_eq!(self.admission.word().in_flight(), 0, "still in flight");
        self.jump(self.now() + (1 << 50));
        let all: Vec<_> = (0..=limit)
            .map_while(|_| self.admission.try_enter(0, || self.now()))
            .collect();
        assert_eq!(all.len(), limit, "can enter without the lock");
        all.iter()
            .for_each(|_| assert!(self.admission.leave().is_none()));
    }
}

/// Holds a place.
pub(super) struct Inside<P: Primitives> {
    shell: Arc<Shell<P>>,
    pub(super) entry: Entry,
    lease: Option<Arc<Lease<P>>>,
}

impl<P: Primitives> Inside<P> {
    fn new(shell: &Arc<Shell<P>>, entry: Entry) -> Self {
        shell.entered.fetch_add(1, SeqCst);
        let inside = shell.inside.fetch_add(1, SeqCst) + 1;
        assert!(inside <= shell.most, "{inside} inside");
        Self {
            shell: Arc::clone(shell),
            entry,
            lease: None,
        }
    }

    pub(super) fn give_back(self) {
        let (shell, entry) = (Arc::clone(&self.shell), self.entry);
        drop(self);
        let effects = shell.admission.give_back(entry, &|| shell.now());
        shell.apply(effects);
    }

    pub(super) fn expire_at(&mut self, at: u64) {
        let (lease, effects) = self.shell.admission.lease(at, &|| self.shell.now());
        self.lease = Some(lease);
        self.shell.apply(effects);
    }
}

impl<P: Primitives> Drop for Inside<P> {
    fn drop(&mut self) {
        self.shell.inside.fetch_sub(1, SeqCst);
        if self.lease.as_ref().is_none_or(|lease| lease.end()) {
            self.shell.leave(self.entry);
        }
    }
}

/// The wait of a task, or of a thread.
pub(super) struct Wait<P: Primitives> {
    shell: Arc<Shell<P>>,
    cost: u32,
    ticket: Option<Ticket<P>>,
    thread: bool,
}

impl<P: Primitives> Wait<P> {
    /// One poll by somebody who will not be woken.
    pub(super) fn poll_once(&mut self) -> Option<Result<Inside<P>, Refusal>> {
        match Pin::new(self).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(entered) => Some(entered),
            Poll::Pending => None,
        }
    }
}

impl<P: Primitives> Future for Wait<P> {
    type Output = Result<Inside<P>, Refusal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let shell = &this.shell;
        let (entered, effects) = if let Some(ticket) = &this.ticket {
            shell
                .admission
                .poll(ticket, context.waker(), &|| shell.now())
        } else {
            if let Some(entry) = shell.admission.try_enter(this.cost, || shell.now()) {
                return Poll::Ready(Ok(Inside::new(shell, entry)));
            }
            let request = Request {
                cost: this.cost,
                costs: None,
                waker: Some(context.waker()),
                thread: this.thread,
                until: u64::MAX,
            };
            let (entered, effects) = shell.admission.enter(request, &|| shell.now());
            let entered = match entered {
                Entered::Yes(entry) => Poll::Ready(Ok(entry)),
                Entered::No(refusal) => Poll::Ready(Err(refusal)),
                Entered::Waits(ticket) => {
                    this.ticket = Some(ticket);
                    Poll::Pending
                }
            };
            (entered, effects)
        };
        shell.apply(effects);
        let entered = ready!(entered);
        this.ticket = None;
        Poll::Ready(entered.map(|entry| Inside::new(shell, entry)))
    }
}

impl<P: Primitives> Drop for Wait<P> {
    fn drop(&mut self) {
        if let Some(ticket) = &self.ticket {
            let effects = self.shell.admission.cancel(ticket, &|| self.shell.now());
            self.shell.apply(effects);
        }
    }
}
