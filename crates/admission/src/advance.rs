//! Who of those that wait may enter, from the head on.

use std::task::Waker;

use crate::admission::{Admission, Entry, Locked, Spare};
use crate::bucket::Dry;
use crate::costs::Costs;
use crate::effects::Effects;
use crate::primitives::{Lock, Primitives};
use crate::queue::Queue;
use crate::times::{NEVER, Now};

/// Tokio's timers tick at one millisecond and fire up to one later: a waiter that had to wait for its
/// tokens is served as of the moment at which they were there, at most this long ago, so that late
/// timers do not slow the pace.
const LAG: u64 = 2_000_000;

/// What keeps the head out.
pub(crate) enum Blocked {
    Paused(u64),
    Full,
    Dry(u64),
}

impl<P: Primitives> Admission<P> {
    /// Hands the place to who waits for it, or gives it up.
    pub(crate) fn leave_slow(&self, spare: Spare, now: Now<'_>) -> Effects {
        match self.hand_over(spare) {
            Ok(waker) => Effects::waking(waker),
            Err(queue) => self.leave_looking(queue, spare, now),
        }
    }

    /// Hands the place to the head where nothing but the limit keeps it out and others wait behind it:
    /// then nothing else has changed, and none of it is looked at. Returns whom to wake; otherwise
    /// [`leave_looking`](Self::leave_looking) must follow.
    #[inline]
    pub(crate) fn hand_over(&self, spare: Spare) -> Result<Option<Waker>, Locked<'_, P>> {
        let mut queue = self.queue.lock();
        let word = self.word();
        if queue.calm
            && spare.0
            && word.in_flight() <= word.limit()
            && queue.ring.waiting() > 1
            && let Some((head, waker)) = queue.ring.pop_head()
        {
            queue.grant(head, false, false);
            return Ok(waker);
        }
        Err(queue)
    }

    #[cold]
    pub(crate) fn leave_looking(
        &self,
        mut queue: Locked<'_, P>,
        spare: Spare,
        now: Now<'_>,
    ) -> Effects {
        let mut effects = Effects::default();
        self.advance_with(&mut queue, spare, now, &mut effects);
        self.settle(&mut queue, now, &mut effects);
        effects
    }

    /// Lets in as many as may enter, from the head on.
    pub(crate) fn advance(&self, queue: &mut Queue<P>, now: Now<'_>, effects: &mut Effects) {
        self.advance_with(queue, Spare(false), now, effects);
    }

    /// The same. A spare place goes to the first of them; if nobody takes it, it is given up.
    fn advance_with(
        &self,
        queue: &mut Queue<P>,
        mut spare: Spare,
        now: Now<'_>,
        effects: &mut Effects,
    ) {
        queue.times.blocked = NEVER;
        while let Some((number, cost)) = queue.ring.head() {
            match self.admit(number, cost, &mut spare, queue, now) {
                Ok(entry) => {
                    if let Some((head, waker)) = queue.ring.pop_head() {
                        self.space(queue, now);
                        let billed = queue.meters.is_some();
                        queue.grant(head, entry.tokens > 0, billed);
                        effects.wake(waker);
                    }
                }
                Err(blocked) => {
                    (queue.times.dry, queue.times.blocked) = match blocked {
                        Blocked::Paused(until) => (NEVER, until),
                        Blocked::Dry(until) => (until, until),
                        Blocked::Full => (NEVER, queue.leases.first().unwrap_or(NEVER)),
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
        now: Now<'_>,
    ) -> Result<Entry, Blocked> {
        if let Some(until) = self.pause(queue, now) {
            return Err(Blocked::Paused(until));
        }
        self.take_place(spare, queue, now)?;
        if queue.pace.is_none() && queue.meters.is_none() {
            return Ok(Entry::free());
        }
        let taken = self.take_tokens(number, cost, queue, now);
        taken.map_err(|due| {
            self.uncount(1);
            Blocked::Dry(due)
        })
    }

    /// What it costs, or when that is there.
    fn take_tokens(
        &self,
        number: u64,
        cost: u32,
        queue: &mut Queue<P>,
        now: Now<'_>,
    ) -> Result<Entry, u64> {
        // Not the queue's clock, which stands still when this one steps back: on the fast path others
        // take tokens by this one.
        let now = now();
        let dry = queue.times.dry;
        let since = if dry <= now {
            dry.max(now.saturating_sub(LAG))
        } else {
            now
        };
        let Some(meters) = &mut queue.meters else {
            return match self.bucket.take(cost, now, since) {
                Ok(()) => Ok(Entry::charged(cost)),
                Err(Dry::Until(due)) => Err(due),
                Err(Dry::Changing) => {
                    unreachable!("a pace is changed under the lock that is held here")
                }
            };
        };
        let bill = queue.ring.bills.as_mut();
        let bill = bill.and_then(|bills| bills.get_mut(number));
        let costs = bill.as_ref().map_or(Costs::same(cost), |bill| bill.costs);
        let due = meters.due(&costs);
        if due > now {
            return Err(due);
        }
        let stamp = meters.take(&costs, now, since);
        bill.into_iter().for_each(|bill| bill.charged = Some(stamp));
        Ok(Entry {
            tokens: queue.pace.map_or(0, |_| costs.of(0)),
            stamp,
        })
    }
}
