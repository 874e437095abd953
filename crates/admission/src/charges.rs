//! What was charged, and what of it is given back.

use crate::admission::{Admission, Entry};
use crate::bills::Bill;
use crate::costs::Costs;
use crate::door::Door;
use crate::effects::Effects;
use crate::meters::Stamp;
use crate::primitives::Primitives;
use crate::queue::Queue;
use crate::times::Now;
use crate::waiter::{Ticket, Waiter};

/// What a request was charged in each pace of a door, and when.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    pub(crate) costs: Costs,
    pub(crate) stamp: Stamp,
}

impl<P: Primitives> Admission<P> {
    /// Gives back the tokens of one that left and for which nothing was sent.
    pub(crate) fn give_back(&self, entry: Entry, now: Now<'_>) -> Effects {
        self.change(now, |queue, _| match &mut queue.meters {
            Some(meters) => meters.give_back(&Costs::same(entry.tokens), None),
            None => self.refund(u64::from(entry.tokens)),
        })
    }

    /// The same where there are several paces.
    pub(crate) fn give_back_charge(&self, charge: &Charge, now: Now<'_>) -> Effects {
        self.change(now, |queue, _| match &mut queue.meters {
            Some(meters) => meters.give_back(&charge.costs, Some(charge.stamp)),
            None => self.refund(u64::from(charge.costs.of(0))),
        })
    }

    /// What was charged turns out to cost `actual` in one pace.
    pub(crate) fn correct(
        &self,
        charge: &Charge,
        pace: usize,
        actual: u32,
        now: Now<'_>,
    ) -> Effects {
        let time = now();
        self.change(now, |queue, _| {
            if let Some(meters) = &mut queue.meters {
                meters.settle(pace, charge, actual, time);
            }
        })
    }

    /// Keeps all paces under the lock from now on, where there may be several, and what was charged
    /// can be corrected. A pace that there is begins anew.
    pub(crate) fn keep_meters(&self, now: Now<'_>) -> Effects {
        let time = now();
        self.change(now, |queue, _| {
            self.meters(queue, time);
        })
    }

    /// One comes for what it was granted: it is sent now.
    pub(crate) fn comes(
        queue: &mut Queue<P>,
        ticket: &Ticket<P>,
        entry: Entry,
        now: Now<'_>,
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
    pub(crate) fn bill(queue: &mut Queue<P>, ticket: &Ticket<P>) -> Option<Bill> {
        let bills = queue.ring.bills.as_mut()?;
        bills.take(ticket.number())
    }

    /// Gives back what one was granted that did not come for it.
    pub(crate) fn take_back(&self, queue: &mut Queue<P>, waiter: &Waiter<P>, entry: Entry) {
        let Some(meters) = &mut queue.meters else {
            return self.refund(u64::from(entry.tokens));
        };
        let bills = queue.ring.bills.as_mut();
        match bills.and_then(|bills| bills.get_mut(waiter.number())) {
            Some(bill) => meters.give_back(&bill.costs, bill.charged.take()),
            None => meters.give_back(&Costs::same(entry.tokens), None),
        }
    }

    fn refund(&self, tokens: u64) {
        if tokens > 0 {
            self.bucket.give_back(tokens);
        }
    }
}

impl Door {
    /// Has every charge kept, so that it can be [corrected](Self::correct), in all paces. From now on
    /// every request takes the door's lock; a pace that was set before begins anew.
    pub fn keep_charges(&self) {
        self.0.change(|admission, now| admission.keep_meters(now));
    }

    /// What was charged turns out to cost `actual` in the pace of that number: what is missing is
    /// charged now, and may be a debt; what was too much is given back, but never more than there
    /// would be had it not been taken.
    ///
    /// Of a door that has one pace it needs [`keep_charges`](Self::keep_charges) before; otherwise
    /// it does nothing. To be called once for each charge and pace.
    pub fn correct(&self, charge: &Charge, pace: usize, actual: u32) {
        self.0
            .change(|admission, now| admission.correct(charge, pace, actual, now));
    }

    /// Gives back what was charged: nothing was sent.
    pub(crate) fn give_back(&self, charge: &Charge) {
        self.0
            .change(|admission, now| admission.give_back_charge(charge, now));
    }
}
