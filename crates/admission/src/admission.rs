//! Who may enter, and who waits.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::{Poll, Waker};

use tidegate_core::Pace;

use crate::bills::Bill;
use crate::bucket::{Bucket, Dry};
use crate::costs::Costs;
use crate::effects::Effects;
use crate::meters::{Meters, Stamp};
use crate::primitives::{AtomicWord, Lock, Primitives};
use crate::queue::{Lease, Queue, Refusal, Why};
use crate::waiter::{State, Ticket, Waiter};
use crate::word::{ONE, PACED, SLOW, Word};

/// Tokio's timers tick at one millisecond and fire up to one later: a waiter that had to wait for its
/// tokens is served as of the moment at which they were there, at most this long ago, so that late
/// timers do not slow the pace.
const LAG: u64 = 2_000_000;

/// The limit, the pace and the pause as conditions on one admission.
///
/// A request that need not wait enters by one compare-and-swap on `word`, and takes its tokens by
/// another when there is a pace. Everything else happens under the lock of `queue`, while the word
/// says [`SLOW`]: then nobody enters but through the lock, and whoever leaves takes it too, to let
/// the next one in.
///
/// Times are nanoseconds on the door's clock, given as a closure that is called only where the time
/// matters. No method wakes anyone: what is to be done outside of the lock comes back as
/// [`Effects`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Admission<P: Primitives> {
    word: P::Word,
    bucket: Bucket<P>,
    queue: P::Lock<Queue<P>>,
}

/// Who asks to enter, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) cost: u32,
    /// In each pace, where there are several.
    pub(crate) costs: Option<Costs>,
    /// Whom to wake; `None` for one that does not wait.
    pub(crate) waker: Option<&'a Waker>,
    /// Whether a thread parks rather than a task.
    pub(crate) thread: bool,
    /// It would not wait longer than until then; `u64::MAX` if it would.
    pub(crate) until: u64,
}

/// What became of one that asked to enter.
#[derive(Debug)]
pub(crate) enum Entered<P: Primitives> {
    Yes(Entry),
    Waits(Ticket<P>),
    No(Refusal),
}

/// What one that entered has taken: a place, and so many tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) tokens: u32,
    /// Of where there are several paces.
    pub(crate) stamp: Stamp,
}

impl Entry {
    #[inline]
    pub(crate) fn free() -> Self {
        Self::charged(0)
    }

    #[inline]
    pub(crate) fn charged(tokens: u32) -> Self {
        Self {
            tokens,
            stamp: Stamp::default(),
        }
    }
}

/// What a request was charged in each pace of a door, and when.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    pub(crate) costs: Costs,
    pub(crate) stamp: Stamp,
}

/// Whether a place comes with the call, of one that leaves and is still counted inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spare(bool);

/// What keeps the head out.
enum Blocked {
    Paused(u64),
    Full,
    Dry(u64),
}

impl<P: Primitives> Admission<P> {
    pub(crate) fn new(limit: usize, seed: u64) -> Self {
        Self::of(Word::new(limit), seed)
    }

    /// Without a limit: a pace and a pause alone.
    pub(crate) fn uncounted(seed: u64) -> Self {
        Self::of(Word::uncounted(), seed)
    }

    fn of(word: Word, seed: u64) -> Self {
        Self {
            word: P::Word::new(word.0),
            bucket: Bucket::new(),
            queue: P::Lock::new(Queue::seeded(seed)),
        }
    }

    /// The fast path. Where it fails, [`enter`](Self::enter) must follow: that is what lets in those
    /// who saw a place taken that was then given up for want of tokens.
    #[inline]
    pub(crate) fn try_enter(&self, cost: u32, now: impl Fn() -> u64) -> Option<Entry> {
        let mut word = self.word.load(Relaxed);
        loop {
            if Word(word).is_slow() || !Word(word).has_room() {
                if Word(word).counts() {
                    return None;
                }
                return self.try_enter_uncounted(cost, now);
            }
            match self
                .word
                .compare_exchange_weak(word, word + ONE, Acquire, Relaxed)
            {
                Ok(_) => break,
                Err(changed) => word = changed,
            }
        }
        if !Word(word).is_paced() {
            return Some(Entry::free());
        }
        let now = now();
        if self.bucket.take(cost, now, now).is_ok() {
            return Some(Entry::charged(cost));
        }
        self.word.fetch_sub(ONE, Release);
        None
    }

    /// Where there is no limit there is nothing to change but the bucket.
    ///
    /// What a pause or a waiter changes meanwhile is not seen: it has entered before.
    #[inline]
    fn try_enter_uncounted(&self, cost: u32, now: impl Fn() -> u64) -> Option<Entry> {
        let word = Word(self.word.load(Acquire));
        if word.is_slow() {
            return None;
        }
        if !word.is_paced() {
            return Some(Entry::free());
        }
        let now = now();
        let taken = self.bucket.take(cost, now, now);
        taken.is_ok().then_some(Entry::charged(cost))
    }

    /// Leaves. Returns whether [`leave_slow`](Self::leave_slow) must follow, and with which place.
    #[inline]
    #[must_use]
    pub(crate) fn leave(&self) -> Option<Spare> {
        let word = Word(self.word.load(Relaxed));
        if !word.counts() {
            return None;
        }
        if word.is_slow() {
            return Some(Spare(true));
        }
        Word(self.word.fetch_sub(ONE, Release))
            .is_slow()
            .then_some(Spare(false))
    }

    /// Hands the place to who waits for it, or gives it up.
    pub(crate) fn leave_slow(&self, spare: Spare, now: impl Fn() -> u64) -> Effects {
        let mut effects = Effects::default();
        let mut queue = self.queue.lock();
        self.advance(&mut queue, spare, &now, &mut effects);
        self.settle(&mut queue, &now, &mut effects);
        effects
    }

    /// Gives back the tokens of one that left and for which nothing was sent.
    pub(crate) fn give_back(&self, entry: Entry, now: impl Fn() -> u64) -> Effects {
        self.locked(now, |this, queue| match &mut queue.meters {
            Some(meters) => meters.give_back(&Costs::same(entry.tokens), None),
            None => this.refund(u64::from(entry.tokens)),
        })
        .1
    }

    /// The same where there are several paces.
    pub(crate) fn give_back_charge(&self, charge: &Charge, now: impl Fn() -> u64) -> Effects {
        self.locked(now, |this, queue| match &mut queue.meters {
            Some(meters) => meters.give_back(&charge.costs, Some(charge.stamp)),
            None => this.refund(u64::from(charge.costs.of(0))),
        })
        .1
    }

    /// What was charged turns out to cost `actual` in one pace.
    pub(crate) fn correct(
        &self,
        charge: &Charge,
        pace: usize,
        actual: u32,
        now: impl Fn() -> u64,
    ) -> Effects {
        let time = now();
        self.locked(now, |_, queue| {
            if let Some(meters) = &mut queue.meters {
                meters.settle(pace, charge, actual, time);
            }
        })
        .1
    }

    /// Keeps all paces under the lock from now on, where there may be several, and what was charged
    /// can be corrected. A pace that there is begins anew.
    pub(crate) fn keep_meters(&self, now: impl Fn() -> u64) -> Effects {
        let time = now();
        self.locked(now, |this, queue| this.meters(queue, time).paces())
            .1
    }

    /// One more pace. Returns its number, if there are not too many.
    pub(crate) fn add_pace(&self, pace: Pace, now: impl Fn() -> u64) -> (Option<usize>, Effects) {
        let time = now();
        self.locked(now, |this, queue| this.meters(queue, time).add(pace, time))
    }

    /// Moves the pace of that number.
    pub(crate) fn set_pace_of(
        &self,
        number: usize,
        pace: Option<Pace>,
        now: impl Fn() -> u64,
    ) -> Effects {
        let time = now();
        self.locked(now, |this, queue| {
            this.meters(queue, time).set(number, pace, time);
        })
        .1
    }

    fn meters<'a>(&self, queue: &'a mut Queue<P>, now: u64) -> &'a mut Meters<P> {
        let pace = queue.pace;
        let ring = &mut queue.ring;
        queue.meters.get_or_insert_with(|| {
            ring.bills = Some(Box::default());
            self.set_slow();
            self.word.fetch_and(!PACED, Release);
            let mut meters = Meters::new();
            meters.set(0, pace, now);
            Box::new(meters)
        })
    }

    /// Enters, or waits, or is refused, once the fast path has failed.
    pub(crate) fn enter(
        &self,
        request: Request<'_>,
        now: impl Fn() -> u64,
    ) -> (Entered<P>, Effects) {
        let mut effects = Effects::default();
        // Outside of the lock: it may run anything.
        let waker = request.waker.cloned();
        let mut queue = self.queue.lock();
        if queue.closed {
            // The place that it has just given up for want of tokens may have been the last.
            self.settle(&mut queue, &now, &mut effects);
            return (Entered::No(Why::Closed.into()), effects);
        }
        self.set_slow();
        let deadline = match queue.max_wait {
            u64::MAX => u64::MAX,
            max_wait => queue.now(&now).saturating_add(max_wait),
        };
        // Whoever stands behind one that waits for a place to be left waits too. There is one if
        // the fast path had taken it and found no tokens.
        let waits = queue.ring.waiting() > 0
            && queue.blocked_until.is_none()
            && Word(self.word.load(Relaxed)).is_full();
        let ticket = queue
            .ring
            .push(request.cost, request.costs, deadline, request.thread, waker);
        if !waits {
            self.advance(&mut queue, Spare(false), &now, &mut effects);
        }
        let entered = match ticket.take(State::Taken) {
            Some(entry) => Entered::Yes(Self::comes(&mut queue, &ticket, entry, &now)),
            None => match self.may_not_wait(&mut queue, request, deadline, &now) {
                None => {
                    queue.expect(deadline);
                    Entered::Waits(ticket)
                }
                Some(refusal) => {
                    effects.drop_later(queue.ring.remove(&ticket, State::Gone));
                    Self::bill(&mut queue, &ticket);
                    Entered::No(refusal)
                }
            },
        };
        self.settle(&mut queue, &now, &mut effects);
        (entered, effects)
    }

    /// Why the last in the queue may not stay there.
    #[inline]
    fn may_not_wait(
        &self,
        queue: &mut Queue<P>,
        request: Request<'_>,
        deadline: u64,
        now: &impl Fn() -> u64,
    ) -> Option<Refusal> {
        let deadline = deadline.min(request.until);
        let why = if request.waker.is_none() {
            Why::NoRoom
        } else if queue.ring.waiting() > queue.max_queue {
            Why::QueueFull
        } else if queue.cooldown.is_on() && queue.is_paused_too_long(now) {
            Why::Paused
        } else if deadline == u64::MAX {
            return None;
        } else {
            Why::WaitTooLong
        };
        let now = queue.now(now);
        let turn = self.turn(queue, &request, now);
        if why == Why::WaitTooLong && turn <= deadline && now < deadline {
            return None;
        }
        let wait = turn.checked_sub(now).filter(|&wait| wait > 0);
        Some(Refusal { why, wait })
    }

    /// When the last in the queue can enter at the earliest, as far as pause and pace tell.
    fn turn(&self, queue: &Queue<P>, request: &Request<'_>, now: u64) -> u64 {
        let from = now.max(queue.pause_until);
        let cost = request.cost;
        if let (Some(meters), Some(bills)) = (&queue.meters, &queue.ring.bills) {
            let costs = request.costs.unwrap_or(Costs::same(cost));
            return meters.turn(&bills.ahead_of(&costs), &costs, from);
        }
        let ahead = queue.ring.cost().saturating_sub(u64::from(cost));
        match queue.pace {
            Some(_) => self.bucket.due_behind(ahead, u64::from(cost), from),
            None => from,
        }
    }

    /// Comes for what was granted, or goes on waiting. Takes the lock only for the latter.
    pub(crate) fn poll(
        &self,
        ticket: &Ticket<P>,
        waker: &Waker,
        now: impl Fn() -> u64,
    ) -> (Poll<Result<Entry, Refusal>>, Effects) {
        let mut effects = Effects::default();
        if let Some(entry) = ticket.take_alone() {
            return (Poll::Ready(Ok(entry)), effects);
        }
        let mut fresh = None;
        let mut queue = self.queue.lock();
        if !queue.ring.knows(ticket, waker) {
            // Outside of the lock: it may run anything.
            drop(queue);
            fresh = Some(waker.clone());
            queue = self.queue.lock();
        }
        let passed_over = ticket.state() == State::PassedOver;
        if passed_over && queue.closed {
            ticket.set(State::Closed);
        } else if passed_over && queue.cooldown.is_on() && queue.is_paused_too_long(&now) {
            ticket.set(State::Paused);
        } else if passed_over {
            queue.ring.return_to_front(ticket);
            queue.expect(ticket.deadline());
            self.set_slow();
        }
        if let Some(fresh) = fresh {
            effects.drop_later(queue.ring.set_waker(ticket, fresh));
        }
        if passed_over && ticket.is_waiting() {
            self.advance(&mut queue, Spare(false), &now, &mut effects);
        }
        self.settle(&mut queue, &now, &mut effects);
        let poll = match ticket.state() {
            State::Expired => Poll::Ready(Err(Why::WaitedTooLong.into())),
            State::Closed => Poll::Ready(Err(Why::Closed.into())),
            State::Paused => Poll::Ready(Err(Self::pause_refuses(&mut queue, &now))),
            _ => ticket.take(State::Taken).map_or(Poll::Pending, |entry| {
                Poll::Ready(Ok(Self::comes(&mut queue, ticket, entry, &now)))
            }),
        };
        if poll.is_ready() {
            Self::bill(&mut queue, ticket);
        }
        (poll, effects)
    }

    /// One comes for what it was granted: it is sent now.
    fn comes(
        queue: &mut Queue<P>,
        ticket: &Ticket<P>,
        entry: Entry,
        now: &impl Fn() -> u64,
    ) -> Entry {
        let bill = Self::bill(queue, ticket);
        let Some(meters) = &mut queue.meters else {
            return entry;
        };
        let Some((costs, charged)) = bill.and_then(|bill| Some((bill.costs, bill.charged?))) else {
            return entry;
        };
        let stamp = meters.sent_now(&costs, charged, now());
        Entry { stamp, ..entry }
    }

    /// What one costs that will not wait any more.
    fn bill(queue: &mut Queue<P>, ticket: &Ticket<P>) -> Option<Bill> {
        let bills = queue.ring.bills.as_mut()?;
        bills.take(ticket.number())
    }

    /// Gives back what one was granted that did not come for it.
    fn take_back(&self, queue: &mut Queue<P>, waiter: &Waiter<P>, entry: Entry) {
        let Some(meters) = &mut queue.meters else {
            return self.refund(u64::from(entry.tokens));
        };
        let bills = queue.ring.bills.as_mut();
        match bills.and_then(|bills| bills.get_mut(waiter.number())) {
            Some(bill) => meters.give_back(&bill.costs, bill.charged.take()),
            None => meters.give_back(&Costs::same(entry.tokens), None),
        }
    }

    /// Takes a waiter out that gave up. What it was granted goes to the next.
    pub(crate) fn cancel(&self, ticket: &Ticket<P>, now: impl Fn() -> u64) -> Effects {
        let (waker, mut effects) = self.locked(now, |this, queue| {
            if let Some(entry) = ticket.take(State::Gone) {
                this.uncount(1);
                this.take_back(queue, ticket, entry);
            }
            let waker = queue.ring.remove(ticket, State::Gone);
            Self::bill(queue, ticket);
            waker
        });
        effects.drop_later(waker);
        effects
    }

    /// Does what is due: passes over those that were granted and did not come, lets in whom time
    /// lets in, refuses those that waited as long as they may.
    pub(crate) fn on_timer(&self, now: impl Fn() -> u64) -> Effects {
        let mut effects = Effects::default();
        let mut queue = self.queue.lock();
        let time = queue.now(&now);
        queue.armed = None;
        queue.ring.shrink();
        if queue.tick.is_some_and(|at| at <= time) {
            queue.tick = None;
            let mut granted = std::mem::take(&mut queue.granted);
            let places = granted.tick(|waiter, entry| self.take_back(&mut queue, waiter, entry));
            queue.granted = granted;
            self.uncount(places);
            // Where one does not come, those behind it may not come either, and to try them one
            // after the other takes as long for each. All are called: who comes is in its old place.
            if places > 0 {
                let wake = |waker| effects.wake(Some(waker));
                queue.ring.clear(State::PassedOver, wake);
            }
        }
        self.advance(&mut queue, Spare(false), &now, &mut effects);
        if queue.deadline.is_some_and(|at| at <= time) {
            queue.deadline = queue
                .ring
                .expire(time, State::Expired, |waker| effects.wake(Some(waker)));
            self.advance(&mut queue, Spare(false), &now, &mut effects);
        }
        effects.stalled = queue.has_stalled(time);
        self.settle(&mut queue, &now, &mut effects);
        effects
    }

    /// Moves the limit. Only a raise while others wait takes the lock.
    pub(crate) fn set_limit(&self, limit: usize, now: impl Fn() -> u64) -> Effects {
        let mut word = self.word.load(Relaxed);
        loop {
            let moved = Word(word).with_limit(limit).0;
            match self
                .word
                .compare_exchange_weak(word, moved, Relaxed, Relaxed)
            {
                Ok(_) if Word(word).is_slow() && moved > word => {
                    return self.leave_slow(Spare(false), now);
                }
                Ok(_) => return Effects::default(),
                Err(changed) => word = changed,
            }
        }
    }

    /// Another pace, or none. Whoever waits is timed anew.
    pub(crate) fn set_pace(&self, pace: Option<Pace>, now: impl Fn() -> u64) -> Effects {
        let time = now();
        self.locked(now, |this, queue| {
            let strict = pace.is_some_and(|pace| pace.window().is_some());
            if strict || queue.meters.is_some() {
                this.meters(queue, time).set(0, pace, time);
                queue.pace = pace;
                return;
            }
            match (&pace, queue.pace) {
                (Some(pace), Some(_)) => this.bucket.change_pace(pace, time),
                (Some(pace), None) => {
                    this.bucket.start(pace, time);
                    this.word.fetch_or(PACED, Release);
                }
                (None, _) => {
                    this.word.fetch_and(!PACED, Release);
                }
            }
            queue.pace = pace;
        })
        .1
    }

    /// Nobody enters before `until`; a pause is extended and never shortened.
    pub(crate) fn pause_until(&self, until: u64, now: impl Fn() -> u64) -> Effects {
        self.locked(now, |this, queue| {
            queue.pause_until = queue.pause_until.max(until);
            this.set_slow();
        })
        .1
    }

    /// The same, since the service asked for it: those that would wait for longer than they may are
    /// refused at once, and the others do not come back together.
    pub(crate) fn cool_down(&self, until: u64, now: impl Fn() -> u64) -> Effects {
        let time = now();
        if until <= time {
            return Effects::default();
        }
        let mut refused = Vec::new();
        let mut effects = self
            .locked(now, |this, queue| {
                queue.pause_until = queue.pause_until.max(until);
                queue.cooldown.ask(until);
                this.set_slow();
                let refuse = |waker| refused.push(waker);
                if queue.cooldown.is_too_long(time) {
                    queue.ring.clear(State::Paused, refuse);
                } else if queue.deadline.is_some() {
                    let before = queue.pause_until - 1;
                    queue.deadline = queue.ring.expire(before, State::Paused, refuse);
                }
            })
            .1;
        for waker in refused {
            effects.wake(Some(waker));
        }
        effects
    }

    /// What one is told that a pause of the service refuses.
    fn pause_refuses(queue: &mut Queue<P>, now: &impl Fn() -> u64) -> Refusal {
        let why = if queue.is_paused_too_long(now) {
            Why::Paused
        } else {
            Why::WaitTooLong
        };
        let wait = queue.pause_until.saturating_sub(queue.now(now));
        let wait = Some(wait).filter(|&wait| wait > 0);
        Refusal { why, wait }
    }

    /// Ends a pause.
    pub(crate) fn end_pause(&self, now: impl Fn() -> u64) -> Effects {
        self.locked(now, |_, queue| {
            queue.pause_until = 0;
            queue.cooldown.stop();
        })
        .1
    }

    /// Refuses everybody from now on, and all that wait.
    pub(crate) fn close(&self, now: impl Fn() -> u64) -> Effects {
        let mut refused = Vec::new();
        let mut effects = self
            .locked(now, |this, queue| {
                queue.closed = true;
                this.set_slow();
                queue.ring.clear(State::Closed, |waker| refused.push(waker));
            })
            .1;
        for waker in refused {
            effects.wake(Some(waker));
        }
        effects
    }

    /// Whether nobody is inside and nobody waits; if not, `waker` is woken when that is so.
    pub(crate) fn poll_drained(&self, waker: &Waker) -> Poll<()> {
        // Outside of the lock: it may run anything.
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        self.set_slow();
        let drained = self.is_empty(&queue);
        if drained {
            self.clear_slow_if_idle(&queue);
            return Poll::Ready(());
        }
        if !queue.drainers.iter().any(|known| known.will_wake(&waker)) {
            queue.drainers.push(waker);
        }
        Poll::Pending
    }

    /// Ends one permit at `at`, even if its holder does not.
    pub(crate) fn lease(&self, at: u64, now: impl Fn() -> u64) -> (Arc<Lease<P>>, Effects) {
        self.locked(now, |_, queue| queue.lease(at))
    }

    /// Runs `change` on the queue, and looks at the settings or counts in it.
    pub(crate) fn with_queue<T>(&self, change: impl FnOnce(&mut Queue<P>) -> T) -> T {
        change(&mut self.queue.lock())
    }

    /// When every bucket is full and every window empty if nobody takes any; `None` without a pace.
    pub(crate) fn full_at(&self) -> Option<u64> {
        let queue = self.queue.lock();
        if let Some(meters) = &queue.meters {
            return meters.full_at();
        }
        let burst = u64::from(queue.pace?.bucket());
        Some(self.bucket.due_behind(0, burst, 0))
    }

    /// When so many tokens are there, if nobody takes any.
    #[cfg(test)]
    pub(crate) fn due(&self, cost: u64) -> u64 {
        let queue = self.queue.lock();
        match &queue.meters {
            Some(meters) => meters.due(&Costs::same(cost as u32)),
            None => self.bucket.due_behind(0, cost, 0),
        }
    }

    pub(crate) fn word(&self) -> Word {
        Word(self.word.load(Relaxed))
    }

    fn locked<T>(
        &self,
        now: impl Fn() -> u64,
        change: impl FnOnce(&Self, &mut Queue<P>) -> T,
    ) -> (T, Effects) {
        let mut effects = Effects::default();
        let mut queue = self.queue.lock();
        let value = change(self, &mut queue);
        self.advance(&mut queue, Spare(false), &now, &mut effects);
        self.settle(&mut queue, &now, &mut effects);
        (value, effects)
    }

    /// Lets in as many as may enter, from the head on. A spare place goes to the first of them;
    /// if nobody takes it, it is given up.
    fn advance(
        &self,
        queue: &mut Queue<P>,
        mut spare: Spare,
        now: &impl Fn() -> u64,
        effects: &mut Effects,
    ) {
        queue.blocked_until = None;
        while let Some((number, cost)) = queue.ring.head() {
            match self.admit(number, cost, &mut spare, queue, now) {
                Ok(entry) => {
                    queue.entered = true;
                    if let Some((head, waker)) = queue.ring.pop_head() {
                        self.space(queue, now);
                        head.grant(entry.tokens > 0, queue.meters.is_some());
                        let Queue { granted, ring, .. } = &mut *queue;
                        granted.push(head, |came| ring.recycle(came));
                        effects.wake(waker);
                    }
                }
                Err(blocked) => {
                    (queue.dry_until, queue.blocked_until) = match blocked {
                        Blocked::Paused(until) => (None, Some(until)),
                        Blocked::Dry(until) => (Some(until), Some(until)),
                        Blocked::Full => (None, queue.leases.front().map(|&(at, _)| at)),
                    };
                    break;
                }
            }
        }
        if spare.0 {
            self.uncount(1);
        }
    }

    fn admit(
        &self,
        number: u64,
        cost: u32,
        spare: &mut Spare,
        queue: &mut Queue<P>,
        now: &impl Fn() -> u64,
    ) -> Result<Entry, Blocked> {
        if let Some(until) = queue.pause(self.most(queue), now) {
            return Err(Blocked::Paused(until));
        }
        self.take_place(spare, queue, now)?;
        if queue.pace.is_none() && queue.meters.is_none() {
            return Ok(Entry::free());
        }
        // Not the queue's clock, which stands still when this one steps back: on the fast path others
        // take tokens by this one.
        let now = now();
        let since = match queue.dry_until {
            Some(at) if at <= now => at.max(now.saturating_sub(LAG)),
            _ => now,
        };
        if let Some(meters) = &mut queue.meters {
            let bill = queue.ring.bills.as_mut();
            let bill = bill.and_then(|bills| bills.get_mut(number));
            let costs = bill.as_ref().map_or(Costs::same(cost), |bill| bill.costs);
            let due = meters.due(&costs);
            if due > now {
                self.uncount(1);
                return Err(Blocked::Dry(due));
            }
            let stamp = meters.take(&costs, now, since);
            bill.into_iter().for_each(|bill| bill.charged = Some(stamp));
            return Ok(Entry {
                tokens: queue.pace.map_or(0, |_| costs.of(0)),
                stamp,
            });
        }
        match self.bucket.take(cost, now, since) {
            Ok(()) => Ok(Entry::charged(cost)),
            Err(Dry::Until(at)) => {
                self.uncount(1);
                Err(Blocked::Dry(at))
            }
            Err(Dry::Changing) => {
                unreachable!("a pace is changed under the lock that is held here")
            }
        }
    }

    /// How many may enter at once.
    fn most(&self, queue: &Queue<P>) -> usize {
        let burst = queue.pace.map_or(usize::MAX, |pace| pace.bucket() as usize);
        Word(self.word.load(Relaxed)).limit().min(burst)
    }

    /// One enters: after a pause of the service the next one is not to follow at once.
    #[inline]
    fn space(&self, queue: &mut Queue<P>, now: &impl Fn() -> u64) {
        if queue.cooldown.is_on() {
            let (most, time) = (self.most(queue), queue.now(now));
            queue.cooldown.enters(time, most);
        }
    }

    /// One more place inside: the spare one if the limit still has room for it, else a free one.
    fn take_place(
        &self,
        spare: &mut Spare,
        queue: &mut Queue<P>,
        now: &impl Fn() -> u64,
    ) -> Result<(), Blocked> {
        let mut word = self.word.load(Relaxed);
        if !Word(word).counts() {
            return Ok(());
        }
        loop {
            if spare.0 && Word(word).in_flight() <= Word(word).limit() {
                spare.0 = false;
                return Ok(());
            }
            if !Word(word).has_room() {
                let freed = queue.reap(now);
                if freed == 0 {
                    return Err(Blocked::Full);
                }
                self.uncount(freed);
                word = self.word.load(Relaxed);
                continue;
            }
            // Only the limit and those who leave can move it under us: nobody else enters while the
            // lock is held.
            match self
                .word
                .compare_exchange_weak(word, word + ONE, Acquire, Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(changed) => word = changed,
            }
        }
    }

    /// So many places are free again.
    fn uncount(&self, places: u64) {
        if Word(self.word.load(Relaxed)).counts() {
            self.word.fetch_sub(places * ONE, Release);
        }
    }

    fn refund(&self, tokens: u64) {
        if tokens > 0 {
            self.bucket.give_back(tokens);
        }
    }

    /// Opens the fast path if nothing stands in its way, arms the timer if it is to fire earlier,
    /// and tells those who wait for the end.
    #[inline]
    fn settle(&self, queue: &mut Queue<P>, now: &impl Fn() -> u64, effects: &mut Effects) {
        if !queue.drainers.is_empty() && self.is_empty(queue) {
            queue
                .drainers
                .drain(..)
                .for_each(|waker| effects.wake(Some(waker)));
        }
        if queue.ring.waiting() == 0 {
            queue.dry_until = None;
        }
        self.clear_slow_if_idle(queue);
        effects.timed = queue.needs_time();
        effects.arm = queue.arm(now);
    }

    fn is_empty(&self, queue: &Queue<P>) -> bool {
        Word(self.word.load(Acquire)).in_flight() == 0 && queue.ring.waiting() == 0
    }

    fn set_slow(&self) {
        if !Word(self.word.load(Relaxed)).is_slow() {
            self.word.fetch_or(SLOW, Relaxed);
        }
    }

    fn clear_slow_if_idle(&self, queue: &Queue<P>) {
        if queue.is_idle() && Word(self.word.load(Relaxed)).is_slow() {
            self.word.fetch_and(!SLOW, Relaxed);
        }
    }
}
