//! What each that waits costs, where there are several paces.

use std::collections::HashMap;

use crate::costs::Costs;
use crate::meters::Stamp;

/// By the number of the waiter, until it has come for what it was granted, or for its refusal.
#[derive(Debug, Default)]
pub(crate) struct Bills {
    of: HashMap<u64, Bill>,
    /// What all that are waiting cost in each.
    waiting: [u64; Costs::MOST],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bill {
    pub(crate) costs: Costs,
    /// If it was.
    pub(crate) charged: Option<Stamp>,
}

/// Below this many their memory is kept.
const FEW: usize = 64;

impl Bills {
    pub(crate) fn write(&mut self, number: u64, costs: Costs) {
        self.of.insert(
            number,
            Bill {
                costs,
                charged: None,
            },
        );
        self.count(number);
    }

    /// It is waiting, again.
    pub(crate) fn count(&mut self, number: u64) {
        if let Some(bill) = self.of.get(&number) {
            for (pace, sum) in self.waiting.iter_mut().enumerate() {
                *sum += u64::from(bill.costs.of(pace));
            }
        }
    }

    /// It is not waiting any more.
    pub(crate) fn uncount(&mut self, number: u64) {
        if let Some(bill) = self.of.get(&number) {
            for (pace, sum) in self.waiting.iter_mut().enumerate() {
                *sum -= u64::from(bill.costs.of(pace));
            }
        }
    }

    pub(crate) fn uncount_all(&mut self) {
        self.waiting = [0; Costs::MOST];
    }

    /// What all that are waiting cost, but for one that is the last of them.
    pub(crate) fn ahead_of(&self, costs: &Costs) -> [u64; Costs::MOST] {
        let mut ahead = self.waiting;
        for (pace, sum) in ahead.iter_mut().enumerate() {
            *sum = sum.saturating_sub(u64::from(costs.of(pace)));
        }
        ahead
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// `None` for one that came when there was one pace.
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Bill> {
        self.of.get_mut(&number)
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<Bill> {
        let bill = self.of.remove(&number);
        if self.of.capacity() > FEW && self.of.len() < self.of.capacity() / 8 {
            self.of.shrink_to(FEW.max(2 * self.of.len()));
        }
        bill
    }
}
