//! Who may enter, and who waits.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::task::{Poll, Waker};

use tidegate_core::Pace;

use crate::bucket::{Bucket, Dry};
use crate::effects::Effects;
use crate::primitives::{AtomicWord, Lock, Primitives};
use crate::queue::{Lease, Queue, Refusal, Why};
use crate::waiter::{State, Ticket};
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
    pub(crate) fn new(limit: usize) -> Self {
        Self::of(Word::new(limit))
    }

    /// Without a limit: a pace and a pause alone.
    pub(crate) fn uncounted() -> Self {
        Self::of(Word::uncounted())
    }

    fn of(word: Word) -> Self {
        Self {
            word: P::Word::new(word.0),
            bucket: Bucket::new(),
            queue: P::Lock::new(Queue::default()),
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
            return Some(Entry { tokens: 0 });
        }
        let now = now();
        if self.bucket.take(cost, now, now).is_ok() {
            return Some(Entry { tokens: cost });
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
            return Some(Entry { tokens: 0 });
        }
        let now = now();
        let taken = self.bucket.take(cost, now, now);
        taken.is_ok().then_some(Entry { tokens: cost })
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
        self.locked(now, |this, _| this.refund(u64::from(entry.tokens)))
            .1
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
            .push(request.cost, deadline, request.thread, waker);
        if !waits {
            self.advance(&mut queue, Spare(false), &now, &mut effects);
        }
        let entered = match ticket.take(State::Taken) {
            Some(entry) => Entered::Yes(entry),
            None => match self.may_not_wait(&mut queue, request, deadline, &now) {
                None => {
                    queue.expect(deadline);
                    Entered::Waits(ticket)
                }
                Some(refusal) => {
                    effects.drop_later(queue.ring.remove(&ticket, State::Gone));
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
        } else if deadline == u64::MAX {
            return None;
        } else {
            Why::WaitTooLong
        };
        let now = queue.now(now);
        let turn = self.turn(queue, request.cost, now);
        if why == Why::WaitTooLong && turn <= deadline && now < deadline {
            return None;
        }
        let wait = turn.checked_sub(now).filter(|&wait| wait > 0);
        Some(Refusal { why, wait })
    }

    /// When the last in the queue, of that cost, can enter at the earliest, as far as pause and pace
    /// tell.
    fn turn(&self, queue: &Queue<P>, cost: u32, now: u64) -> u64 {
        let from = now.max(queue.pause_until);
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
        if let Some(entry) = ticket.take(State::Taken) {
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
        } else if passed_over {
            queue.ring.return_to_front(ticket);
            queue.expect(ticket.deadline());
            self.set_slow();
        }
        if let Some(fresh) = fresh {
            effects.drop_later(queue.ring.set_waker(ticket, fresh));
        }
        if passed_over {
            self.advance(&mut queue, Spare(false), &now, &mut effects);
        }
        self.settle(&mut queue, &now, &mut effects);
        let poll = match ticket.state() {
            State::Expired => Poll::Ready(Err(Why::WaitedTooLong.into())),
            State::Closed => Poll::Ready(Err(Why::Closed.into())),
            _ => ticket
                .take(State::Taken)
                .map_or(Poll::Pending, |entry| Poll::Ready(Ok(entry))),
        };
        (poll, effects)
    }

    /// Takes a waiter out that gave up. What it was granted goes to the next.
    pub(crate) fn cancel(&self, ticket: &Ticket<P>, now: impl Fn() -> u64) -> Effects {
        let (waker, mut effects) = self.locked(now, |this, queue| {
            if let Some(entry) = ticket.take(State::Gone) {
                this.uncount(1);
                this.refund(u64::from(entry.tokens));
            }
            queue.ring.remove(ticket, State::Gone)
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
            let (places, tokens) = queue.granted.tick();
            self.uncount(places);
            self.refund(tokens);
            // Where one does not come, those behind it may not come either, and to try them one
            // after the other takes as long for each. All are called: who comes is in its old place.
            if places > 0 {
                let wake = |waker| effects.wake(Some(waker));
                queue.ring.clear(State::PassedOver, wake);
            }
        }
        self.advance(&mut queue, Spare(false), &now, &mut effects);
        if queue.deadline.is_some_and(|at| at <= time) {
            queue.deadline = queue.ring.expire(time, |waker| effects.wake(Some(waker)));
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

    /// Ends a pause.
    pub(crate) fn end_pause(&self, now: impl Fn() -> u64) -> Effects {
        self.locked(now, |_, queue| queue.pause_until = 0).1
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

    /// When the bucket is full if nobody takes any; `None` without a pace.
    pub(crate) fn full_at(&self) -> Option<u64> {
        let queue = self.queue.lock();
        let burst = u64::from(queue.pace?.bucket());
        Some(self.bucket.due_behind(0, burst, 0))
    }

    /// When so many tokens are there, if nobody takes any.
    #[cfg(test)]
    pub(crate) fn due(&self, cost: u64) -> u64 {
        let _queue = self.queue.lock();
        self.bucket.due_behind(0, cost, 0)
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
        while let Some(cost) = queue.ring.head_cost() {
            match self.admit(cost, &mut spare, queue, now) {
                Ok(entry) => {
                    queue.entered = true;
                    if let Some((head, waker)) = queue.ring.pop_head() {
                        head.grant(entry.tokens > 0);
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
        cost: u32,
        spare: &mut Spare,
        queue: &mut Queue<P>,
        now: &impl Fn() -> u64,
    ) -> Result<Entry, Blocked> {
        if let Some(until) = queue.pause(now) {
            return Err(Blocked::Paused(until));
        }
        self.take_place(spare, queue, now)?;
        if queue.pace.is_none() {
            return Ok(Entry { tokens: 0 });
        }
        // Not the queue's clock, which stands still when this one steps back: on the fast path others
        // take tokens by this one.
        let now = now();
        let since = match queue.dry_until {
            Some(at) if at <= now => at.max(now.saturating_sub(LAG)),
            _ => now,
        };
        match self.bucket.take(cost, now, since) {
            Ok(()) => Ok(Entry { tokens: cost }),
            Err(Dry::Until(at)) => {
                self.uncount(1);
                Err(Blocked::Dry(at))
            }
            Err(Dry::Changing) => {
                unreachable!("a pace is changed under the lock that is held here")
            }
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
