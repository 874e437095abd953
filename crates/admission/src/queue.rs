//! What the lock protects.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::task::Waker;

use tidegate_core::Pace;

use crate::cooldown::Cooldown;
use crate::granted::Granted;
use crate::meters::Meters;
use crate::primitives::{AtomicWord, Primitives};
use crate::ring::Ring;

/// How often those are counted that may enter and have not come, in nanoseconds.
const TICK: u64 = 50_000_000;
/// How often it is looked at whether anybody has entered while others wait, in nanoseconds.
const STALL: u64 = 1_000_000_000;

/// Everything but the word and the bucket. Times are nanoseconds on the door's clock.
#[derive(Debug)]
pub(crate) struct Queue<P: Primitives> {
    pub(crate) ring: Ring<P>,
    pub(crate) granted: Granted<P>,
    pub(crate) pace: Option<Pace>,
    /// Where there is more than one pace, or one that the bucket cannot keep: all of them.
    pub(crate) meters: Option<Box<Meters<P>>>,
    /// Nobody enters before; 0 when there is no pause.
    pub(crate) pause_until: u64,
    /// Where a service asked for the pause, or for a part of it.
    pub(crate) cooldown: Cooldown,
    pub(crate) max_queue: usize,
    /// `u64::MAX`: for ever.
    pub(crate) max_wait: u64,
    pub(crate) closed: bool,
    pub(crate) drainers: Vec<Waker>,
    /// What keeps the head out: until when, where that is known.
    pub(crate) blocked_until: Option<u64>,
    /// When there are tokens for the head, if it waits for nothing else.
    pub(crate) dry_until: Option<u64>,
    /// The earliest deadline of a waiter, or an earlier moment.
    pub(crate) deadline: Option<u64>,
    /// The next tick for those that were granted and have not come.
    pub(crate) tick: Option<u64>,
    /// When to look whether anybody has entered since the last look.
    pub(crate) stall: Option<u64>,
    pub(crate) entered: bool,
    /// When the timer is to fire.
    pub(crate) armed: Option<u64>,
    /// The latest moment seen: a clock that steps back stands still instead.
    pub(crate) clock: u64,
    /// Permits that are freed at a time, in the order of that time.
    pub(crate) leases: VecDeque<(u64, Arc<Lease<P>>)>,
    /// When there are so many of them, those that have ended are taken out.
    many_leases: usize,
    /// How many leases have run out.
    pub(crate) overdue: u64,
}

/// Below so many leases those that have ended may stay.
const FEW: usize = 32;

/// Why one may not enter, and how long it would have to wait, where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    pub(crate) wait: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    NoRoom,
    QueueFull,
    WaitTooLong,
    WaitedTooLong,
    /// A service asked for a longer pause than anybody waits for.
    Paused,
    Closed,
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self { why, wait: None }
    }
}

/// A permit that ends at a time even if its holder does not.
#[derive(Debug)]
pub(crate) struct Lease<P: Primitives>(P::Word);

const ENDED: u64 = 1;

impl<P: Primitives> Lease<P> {
    /// Whether the caller is the first to end it, and so the one who frees its place.
    pub(crate) fn end(&self) -> bool {
        self.0.fetch_or(ENDED, AcqRel) != ENDED
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Relaxed) == ENDED
    }
}

impl<P: Primitives> Queue<P> {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            ring: Ring::default(),
            granted: Granted::default(),
            pace: None,
            meters: None,
            pause_until: 0,
            cooldown: Cooldown::seeded(seed),
            max_queue: usize::MAX,
            max_wait: u64::MAX,
            closed: false,
            drainers: Vec::new(),
            blocked_until: None,
            dry_until: None,
            deadline: None,
            tick: None,
            stall: None,
            entered: false,
            armed: None,
            clock: 0,
            leases: VecDeque::new(),
            many_leases: FEW,
            overdue: 0,
        }
    }

    /// The time, which never steps back.
    pub(crate) fn now(&mut self, now: &impl Fn() -> u64) -> u64 {
        self.clock = self.clock.max(now());
        self.clock
    }

    /// Whether a request may enter without the lock.
    pub(crate) fn is_idle(&self) -> bool {
        self.ring.waiting() == 0
            && self.pause_until == 0
            && !self.cooldown.is_on()
            && !self.closed
            && self.meters.is_none()
            && self.drainers.is_empty()
    }

    /// When the next one may enter, if there is a pause or one has just ended; `most` is how many may
    /// enter at once.
    pub(crate) fn pause(&mut self, most: usize, now: &impl Fn() -> u64) -> Option<u64> {
        if self.pause_until == 0 && !self.cooldown.is_on() {
            return None;
        }
        let time = self.now(now);
        if self.pause_until > time {
            return Some(self.pause_until);
        }
        let ended = std::mem::take(&mut self.pause_until);
        if ended != 0 {
            self.cooldown.end(ended, most);
        }
        self.cooldown.holds_until(time, self.ring.waiting(), most)
    }

    /// Whether a service asked for a longer pause than anybody waits for.
    pub(crate) fn is_paused_too_long(&mut self, now: &impl Fn() -> u64) -> bool {
        let time = self.now(now);
        self.cooldown.is_too_long(time)
    }

    /// A lease until `at`.
    pub(crate) fn lease(&mut self, at: u64) -> Arc<Lease<P>> {
        if self.leases.len() >= self.many_leases {
            self.leases.retain(|(_, lease)| !lease.has_ended());
            self.many_leases = (self.leases.len() * 2).max(FEW);
            self.leases.shrink_to(self.many_leases);
        }
        let lease = Arc::new(Lease(P::Word::new(0)));
        let place = self.leases.partition_point(|(other, _)| *other <= at);
        self.leases.insert(place, (at, Arc::clone(&lease)));
        lease
    }

    /// Ends the leases that have run out, and returns how many places that frees.
    pub(crate) fn reap(&mut self, now: &impl Fn() -> u64) -> u64 {
        let mut freed = 0;
        while let Some(&(at, ref lease)) = self.leases.front() {
            if !lease.has_ended() {
                if at > self.clock.max(now()) {
                    break;
                }
                freed += u64::from(lease.end());
            }
            self.leases.pop_front();
        }
        self.overdue += freed;
        freed
    }

    /// One of those that wait is refused at `deadline`.
    pub(crate) fn expect(&mut self, deadline: u64) {
        if deadline != u64::MAX {
            self.deadline = Some(self.deadline.map_or(deadline, |at| at.min(deadline)));
        }
    }

    /// Nobody keeps the time. Returns the head's waker if it needs that, for it to try where it is
    /// polled.
    pub(crate) fn without_timer(&mut self, needed: bool) -> Option<Waker> {
        self.armed = None;
        needed.then(|| self.ring.take_head_task()).flatten()
    }

    /// Whether only time can let the next one in, or end its wait.
    pub(crate) fn needs_time(&self) -> bool {
        self.ring.waiting() > 0 && self.blocked_until.or(self.deadline).is_some()
    }

    /// Whether nobody has entered in the time between two looks, though somebody waits.
    pub(crate) fn has_stalled(&mut self, now: u64) -> bool {
        if self.stall.is_none_or(|at| at > now) {
            return false;
        }
        self.stall = None;
        let entered = std::mem::take(&mut self.entered);
        !entered && self.ring.waiting() > 0
    }

    /// When the timer is to fire, if that is earlier than it would: at the earliest moment at which
    /// something may happen that nobody else brings about.
    #[inline]
    pub(crate) fn arm(&mut self, now: &impl Fn() -> u64) -> Option<u64> {
        if self.ring.waiting() == 0 {
            return None;
        }
        if self.tick.is_none() && !self.granted.is_empty() {
            self.tick = Some(self.now(now) + TICK);
        }
        // Only a place that is held can be held by a body that nobody reads.
        if self.dry_until.is_some() || self.pause_until != 0 || self.cooldown.is_on() {
            self.stall = None;
        } else if self.stall.is_none() {
            self.entered = false;
            self.stall = Some(self.now(now) + STALL);
        }
        let mut next = self.armed.unwrap_or(u64::MAX);
        for event in [self.blocked_until, self.deadline, self.tick, self.stall] {
            next = next.min(event.unwrap_or(u64::MAX));
        }
        if self.armed.unwrap_or(u64::MAX) == next {
            return None;
        }
        self.armed = Some(next);
        self.armed
    }
}
