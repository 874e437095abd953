//! What is moved by hand, and who is told of it.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tidegate_core::{Change, Pace, Reason, Setting};

use crate::admission::Admission;
use crate::door::Door;
use crate::effects::Effects;
use crate::inner::Inner;
use crate::primitives::Std;
use crate::times::Now;

/// One move after the other, where somebody observes.
#[derive(Debug, Default)]
pub(crate) struct Hands(Mutex<Moved>);

#[derive(Debug, Default)]
struct Moved {
    untold: VecDeque<(Instant, Change)>,
    /// Whether somebody tells of them: then what comes meanwhile is told there, in its turn.
    is_telling: bool,
}

impl Hands {
    fn lock(&self) -> MutexGuard<'_, Moved> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The same as [`change`](Self::change), by hand: who observes is told of what moved, in the order
    /// in which it did, and outside of every lock.
    pub(crate) fn move_by_hand(&self, change: impl FnOnce(&Admission<Std>, Now<'_>) -> Effects) {
        if !self.observers.any() {
            return self.change(change);
        }
        let mut moved = self.hands.lock();
        let now = self.now();
        let from = self.setting(now);
        let effects = change(&self.admission, &|| now);
        let to = self.setting(now);
        if from != to {
            let reason = Reason::Manual;
            let change = Change { from, to, reason };
            moved.untold.push_back((self.instant(now), change));
        }
        drop(moved);
        self.apply(effects);
        self.tell_moves();
    }

    fn tell_moves(&self) {
        let mut moved = self.hands.lock();
        if mem::replace(&mut moved.is_telling, true) {
            return;
        }
        let teller = Teller(&self.hands);
        while let Some((now, change)) = moved.untold.pop_front() {
            drop(moved);
            for observer in self.observers.iter() {
                observer.on_change(now, &change);
            }
            moved = self.hands.lock();
        }
        moved.is_telling = false;
        mem::forget(teller);
    }

    fn setting(&self, now: u64) -> Setting {
        let limit = self.admission.word().limit() as f64;
        self.admission.with_queue(|queue| Setting {
            limit,
            pace: queue.pace,
            pause_until: (queue.pause_until > now).then(|| self.instant(queue.pause_until)),
        })
    }
}

/// If an observer panics, the next move is told to all, and what was not told yet before it.
struct Teller<'a>(&'a Hands);

impl Drop for Teller<'_> {
    fn drop(&mut self) {
        self.0.lock().is_telling = false;
    }
}

/// A door as a law moves it: nobody is told that it was moved by hand. See [`Door::by_law`].
#[derive(Clone, Copy, Debug)]
pub struct ByLaw<'a>(&'a Door);

impl Door {
    /// To move it for a law, or because a service asks for it, rather than by hand: the observers of the
    /// door are not told, since whoever runs the law tells of its moves and their reasons.
    ///
    /// ```
    /// use tidegate_admission::Door;
    ///
    /// let door = Door::new("gate", 10);
    /// door.by_law().set_limit(20);
    /// assert_eq!(door.limit(), 20);
    /// ```
    pub fn by_law(&self) -> ByLaw<'_> {
        ByLaw(self)
    }
}

impl ByLaw<'_> {
    /// As [`Door::set_limit`].
    pub fn set_limit(self, limit: usize) {
        let Self(Door(inner)) = self;
        inner.change(|admission, now| admission.set_limit(limit, now));
    }

    /// As [`Door::set_pace`].
    pub fn set_pace(self, pace: Option<Pace>) {
        let Self(Door(inner)) = self;
        inner.change(|admission, now| admission.set_pace(pace, now));
    }

    /// As [`Door::pause_until`].
    pub fn pause_until(self, until: Instant) {
        let Self(Door(inner)) = self;
        let until = inner.nanos(until);
        inner.change(|admission, now| admission.pause_until(until, now));
    }

    /// As [`Door::end_pause`].
    pub fn end_pause(self) {
        let Self(Door(inner)) = self;
        inner.change(|admission, now| admission.end_pause(now));
    }
}
