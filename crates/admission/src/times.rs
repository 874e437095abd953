//! What only time brings about.

use std::task::Waker;

use crate::admission::Admission;
use crate::effects::Effects;
use crate::primitives::{Lock, Primitives};
use crate::queue::Queue;
use crate::waiter::State;

/// The door's clock, in nanoseconds: read only where the time matters.
pub(crate) type Now<'a> = &'a dyn Fn() -> u64;

/// Later than any moment.
pub(crate) const NEVER: u64 = u64::MAX;

/// How often those are counted that may enter and have not come, in nanoseconds.
const TICK: u64 = 50_000_000;
/// How often it is looked at whether anybody has entered while others wait, in nanoseconds.
const STALL: u64 = 1_000_000_000;

/// Moments on the door's clock, each [`NEVER`] where it does not come.
#[derive(Debug)]
pub(crate) struct Times {
    /// What keeps the head out: until when, where that is known.
    pub(crate) blocked: u64,
    /// When there are tokens for the head, if it waits for nothing else.
    pub(crate) dry: u64,
    /// The earliest deadline of a waiter, or an earlier moment.
    pub(crate) deadline: u64,
    /// The next tick for those that were granted and have not come.
    pub(crate) tick: u64,
    /// When to look whether anybody has entered since the last look.
    pub(crate) stall: u64,
    /// When the timer is to fire.
    armed: u64,
    /// The latest moment seen: a clock that steps back stands still instead.
    clock: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            blocked: NEVER,
            dry: NEVER,
            deadline: NEVER,
            tick: NEVER,
            stall: NEVER,
            armed: NEVER,
            clock: 0,
        }
    }
}

impl Times {
    /// The time, which never steps back.
    pub(crate) fn now(&mut self, now: Now<'_>) -> u64 {
        self.clock = self.clock.max(now());
        self.clock
    }

    /// One of those that wait is refused at `deadline`.
    pub(crate) fn expect(&mut self, deadline: u64) {
        self.deadline = self.deadline.min(deadline);
    }

    pub(crate) fn armed(&self) -> Option<u64> {
        (self.armed != NEVER).then_some(self.armed)
    }

    /// When the timer is to fire, if that is not what it is armed for.
    fn arm(&mut self) -> Option<u64> {
        let events = [self.blocked, self.deadline, self.tick, self.stall];
        let next = events.into_iter().fold(self.armed, u64::min);
        let changed = next != self.armed;
        self.armed = next;
        changed.then_some(next)
    }
}

impl<P: Primitives> Queue<P> {
    /// Nobody keeps the time any more.
    pub(crate) fn disarm(&mut self) {
        self.times.armed = NEVER;
        self.calm = false;
    }

    /// The same. Returns the head's waker if it needs the time, for it to try where it is polled.
    pub(crate) fn without_timer(&mut self, needed: bool) -> Option<Waker> {
        self.disarm();
        needed.then(|| self.ring.take_head_task()).flatten()
    }

    /// Whether only time can let the next one in, or end its wait.
    pub(crate) fn needs_time(&self) -> bool {
        self.ring.waiting() > 0 && self.times.blocked.min(self.times.deadline) != NEVER
    }

    /// Whether nobody has entered in the time between two looks, though somebody waits.
    fn has_stalled(&mut self, now: u64) -> bool {
        if self.times.stall > now {
            return false;
        }
        self.times.stall = NEVER;
        let entered = std::mem::take(&mut self.entered);
        !entered && self.ring.waiting() > 0
    }

    /// When the timer is to fire, if that is earlier than it would: at the earliest moment at which
    /// something may happen that nobody else brings about.
    pub(crate) fn arm(&mut self, now: Now<'_>) -> Option<u64> {
        if self.ring.waiting() == 0 {
            return None;
        }
        if self.times.tick == NEVER && !self.granted.is_empty() {
            self.times.tick = self.times.now(now) + TICK;
        }
        // Only a place that is held can be held by a body that nobody reads.
        if self.times.dry != NEVER || self.pause_until != 0 || self.cooldown.is_on() {
            self.times.stall = NEVER;
        } else if self.times.stall == NEVER {
            self.entered = false;
            self.times.stall = self.times.now(now) + STALL;
        }
        self.times.arm()
    }
}

impl<P: Primitives> Admission<P> {
    /// Does what is due: passes over those that were granted and did not come, lets in whom time
    /// lets in, refuses those that waited as long as they may.
    pub(crate) fn on_timer(&self, now: Now<'_>) -> Effects {
        let mut effects = Effects::default();
        let mut queue = self.queue.lock();
        let time = queue.times.now(now);
        queue.disarm();
        queue.ring.shrink();
        if queue.times.tick <= time {
            queue.times.tick = NEVER;
            self.pass_over(&mut queue, &mut effects);
        }
        self.advance(&mut queue, now, &mut effects);
        if queue.times.deadline <= time {
            let wake = |waker| effects.wake(Some(waker));
            queue.times.deadline = queue.ring.expire(time, State::Expired, wake);
            self.advance(&mut queue, now, &mut effects);
        }
        effects.stalled = queue.has_stalled(time);
        self.settle(&mut queue, now, &mut effects);
        effects
    }

    /// Counts a tick for those that were granted.
    fn pass_over(&self, queue: &mut Queue<P>, effects: &mut Effects) {
        let mut granted = std::mem::take(&mut queue.granted);
        let places = granted.tick(|waiter, entry| self.take_back(queue, waiter, entry));
        queue.granted = granted;
        self.uncount(places);
        // Where one does not come, those behind it may not come either, and to try them one
        // after the other takes as long for each. All are called: who comes is in its old place.
        if places > 0 {
            let wake = |waker| effects.wake(Some(waker));
            queue.ring.clear(State::PassedOver, wake);
        }
    }
}
