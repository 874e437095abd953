//! Until when nobody may enter.

use std::time::{Duration, Instant};

use tidegate_core::saturating_nanos;

use crate::admission::Admission;
use crate::door::Door;
use crate::effects::Effects;
use crate::primitives::Primitives;
use crate::queue::Queue;
use crate::refusal::{Refusal, Why};
use crate::times::{NEVER, Now};
use crate::waiter::State;

impl<P: Primitives> Admission<P> {
    /// Nobody enters before `until`; a pause is extended and never shortened.
    pub(crate) fn pause_until(&self, until: u64, now: Now<'_>) -> Effects {
        self.change(now, |queue, _| {
            queue.pause_until = queue.pause_until.max(until);
            self.set_slow();
        })
    }

    /// The same, since the service asked for it: those that would wait for longer than they may are
    /// refused at once, and the others do not come back together.
    pub(crate) fn cool_down(&self, until: u64, now: Now<'_>) -> Effects {
        let time = now();
        if until <= time {
            return Effects::default();
        }
        self.change(now, |queue, effects| {
            queue.pause_until = queue.pause_until.max(until);
            queue.cooldown.ask(until);
            self.set_slow();
            let refuse = |waker| effects.wake(Some(waker));
            if queue.cooldown.is_too_long(time) {
                queue.ring.clear(State::Paused, refuse);
            } else if queue.times.deadline != NEVER {
                let before = queue.pause_until - 1;
                queue.times.deadline = queue.ring.expire(before, State::Paused, refuse);
            }
        })
    }

    /// What one is told that a pause of the service refuses.
    pub(crate) fn pause_refuses(queue: &mut Queue<P>, now: Now<'_>) -> Refusal {
        let why = if queue.is_paused_too_long(now) {
            Why::Paused
        } else {
            Why::WaitTooLong
        };
        let wait = queue.pause_until.saturating_sub(queue.times.now(now));
        let wait = Some(wait).filter(|&wait| wait > 0);
        Refusal { why, wait }
    }

    /// Ends a pause.
    pub(crate) fn end_pause(&self, now: Now<'_>) -> Effects {
        self.change(now, |queue, _| {
            queue.pause_until = 0;
            queue.cooldown.stop();
        })
    }

    /// How many may enter at once.
    fn most(&self, queue: &Queue<P>) -> usize {
        let burst = queue.pace.map_or(usize::MAX, |pace| pace.bucket() as usize);
        self.word().limit().min(burst)
    }

    /// One enters: after a pause of the service the next one is not to follow at once.
    pub(crate) fn space(&self, queue: &mut Queue<P>, now: Now<'_>) {
        if queue.cooldown.is_on() {
            let (most, time) = (self.most(queue), queue.times.now(now));
            queue.cooldown.enters(time, most);
        }
    }

    /// When the next one may enter, if there is a pause or one has just ended.
    pub(crate) fn pause(&self, queue: &mut Queue<P>, now: Now<'_>) -> Option<u64> {
        if queue.pause_until == 0 && !queue.cooldown.is_on() {
            return None;
        }
        let (most, time) = (self.most(queue), queue.times.now(now));
        if queue.pause_until > time {
            return Some(queue.pause_until);
        }
        let ended = std::mem::take(&mut queue.pause_until);
        if ended != 0 {
            queue.cooldown.end(ended, most);
        }
        queue.cooldown.holds_until(time, queue.ring.waiting(), most)
    }
}

impl<P: Primitives> Queue<P> {
    /// Whether a service asked for a longer pause than anybody waits for.
    pub(crate) fn is_paused_too_long(&mut self, now: Now<'_>) -> bool {
        let time = self.times.now(now);
        self.cooldown.is_too_long(time)
    }
}

impl Door {
    /// Until when nobody may enter.
    pub fn paused_until(&self) -> Option<Instant> {
        let now = self.0.now();
        let until = self.0.admission.with_queue(|queue| queue.pause_until);
        (until > now).then(|| self.0.instant(until))
    }

    /// Nobody enters before `until`. Extends a pause and never shortens it.
    pub fn pause_until(&self, until: Instant) {
        let until = self.0.nanos(until);
        self.0
            .move_by_hand(|admission, now| admission.pause_until(until, now));
    }

    /// Nobody enters before `until`, since the service asked for it.
    ///
    /// As [`pause_until`](Self::pause_until), and whoever would have to wait for its end longer than
    /// [anybody waits](Self::set_longest_pause), or than it may, is refused at once, with when to try
    /// again; those that wait already too. The others do not come back together: they enter one by one, with gaps of random length
    /// that only add. In the first second no more enter than may be inside, or than the burst if that
    /// is less, and each second after that up to twice as many, until nobody waits.
    ///
    /// A moment that is past does nothing.
    pub fn cool_down_until(&self, until: Instant) {
        let until = self.0.nanos(until);
        self.0
            .change(|admission, now| admission.cool_down(until, now));
    }

    /// How long anybody waits at most for the end of a pause that the [service asked
    /// for](Self::cool_down_until). Default 60 s, and that long is waited. Holds for those that come, and
    /// for pauses that are asked for, from now on.
    pub fn set_longest_pause(&self, longest: Duration) {
        let longest = saturating_nanos(longest);
        self.0
            .admission
            .with_queue(|queue| queue.cooldown.set_longest(longest));
    }

    /// Ends a pause at once.
    pub fn end_pause(&self) {
        self.0
            .move_by_hand(|admission, now| admission.end_pause(now));
    }
}
