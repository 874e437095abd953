//! A bucket whose charges may be corrected later.

use std::collections::VecDeque;

use tidegate_core::Pace;

use crate::bucket::Bucket;
use crate::primitives::Primitives;

/// A bucket that knows how far from full it was at each charge, so that what is given back late is
/// no more than it would hold had that not been taken: while a bucket is full, nothing flows in, with
/// or without it.
///
/// ```text
/// lead     when the bucket is full − now, just before a charge; 0 when it is full
/// give d back of a charge:   min(price of d, lead of every later charge)
/// ```
///
/// Charges are numbered, in order.
#[derive(Debug)]
pub(crate) struct Account<P: Primitives> {
    bucket: Bucket<P>,
    leads: Leads,
}

impl<P: Primitives> Account<P> {
    pub(crate) fn new(pace: &Pace, now: u64, number: u64) -> Self {
        let bucket = Bucket::new();
        bucket.start(pace, now);
        let mut leads = Leads::default();
        // Of what was taken before nothing is given back.
        leads.push(number, 0);
        Self { bucket, leads }
    }

    pub(crate) fn change(&mut self, pace: &Pace, now: u64, number: u64) {
        self.charge(0, now, number);
        let before = self.bucket.period();
        self.bucket.change_pace(pace, now);
        // As many tokens take another time from now on.
        self.leads.scale(self.bucket.period() / before);
        self.charge(0, now, number);
    }

    pub(crate) fn due_behind(&self, ahead: u64, cost: u64, from: u64) -> u64 {
        self.bucket.due_behind(ahead, cost, from)
    }

    /// Takes `cost` as of `now`, whether it is due or not.
    pub(crate) fn charge(&mut self, cost: u32, now: u64, number: u64) {
        let lead = self.bucket.charge(u64::from(cost), now);
        self.leads.push(number, lead);
    }

    /// Gives back what makes `charged` to `actual`; if it is not known which charge it was, all of it.
    pub(crate) fn give_back(&mut self, charged: u32, actual: u32, number: Option<u64>) {
        let price = self.bucket.price(charged) - self.bucket.price(actual);
        let most = number.and_then(|number| self.leads.lowest_after(number));
        let less = price.min(most.unwrap_or(u64::MAX));
        self.bucket.rebate(less);
        if let Some(number) = number {
            self.leads.lower_after(number, less);
        }
    }
}

/// Of each charge that no later one was nearer to full than: its number and its lead, both rising.
#[derive(Debug, Default)]
struct Leads(VecDeque<(u64, u64)>);

/// More of them are taken together.
const MOST: usize = 64;

impl Leads {
    fn push(&mut self, number: u64, lead: u64) {
        while self.0.back().is_some_and(|&(_, back)| back >= lead) {
            self.0.pop_back();
        }
        match self.0.get_mut(MOST - 1) {
            // The lower lead for both: less is given back then.
            Some((last, _)) => *last = number,
            None => self.0.push_back((number, lead)),
        }
    }

    fn scale(&mut self, factor: f64) {
        for (_, lead) in &mut self.0 {
            *lead = (*lead as f64 * factor) as u64;
        }
    }

    fn lowest_after(&self, number: u64) -> Option<u64> {
        let first = self.0.partition_point(|&(other, _)| other <= number);
        self.0.get(first).map(|&(_, lead)| lead)
    }

    /// So much was not taken by that charge.
    fn lower_after(&mut self, number: u64, less: u64) {
        let first = self.0.partition_point(|&(other, _)| other <= number);
        for (_, lead) in self.0.iter_mut().skip(first) {
            *lead = lead.saturating_sub(less);
        }
        let lowest = self.0.get(first).map_or(u64::MAX, |&(_, lead)| lead);
        let before = |&(other, lead): &(u64, u64)| other <= number && lead < lowest;
        let kept = self.0.partition_point(before);
        self.0.drain(kept..first);
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::per_second;

    use super::*;
    use crate::primitives::Std;

    const MS: u64 = 1_000_000;

    fn account() -> Account<Std> {
        Account::new(&per_second(10.0).burst(10), 0, 0)
    }

    #[test]
    fn what_is_given_back_at_once_is_there_again() {
        let mut account = account();
        account.charge(10, 0, 1);
        account.give_back(10, 4, Some(1));
        assert_eq!(account.due_behind(0, 6, 0), 0);
        assert_eq!(account.due_behind(0, 7, 0), 100 * MS);
    }

    #[test]
    fn nothing_is_given_back_of_what_has_flowed_in_again() {
        let mut account = account();
        account.charge(10, 0, 1);
        // It was full again at 1,000, with or without the first; so only the second counts.
        account.charge(10, 1_000 * MS, 2);
        account.give_back(10, 0, Some(1));
        assert_eq!(account.due_behind(0, 1, 0), 1_100 * MS);
        account.give_back(10, 9, Some(2));
        assert_eq!(account.due_behind(0, 1, 0), 1_000 * MS);
    }

    #[test]
    fn a_part_is_given_back_of_what_has_flowed_in_again_in_part() {
        let mut account = account();
        account.charge(10, 0, 1);
        // Six have flowed in; without the first it would have been full.
        account.charge(1, 600 * MS, 2);
        account.give_back(10, 0, Some(1));
        assert_eq!(account.due_behind(0, 9, 600 * MS), 600 * MS);
        assert_eq!(account.due_behind(0, 10, 600 * MS), 700 * MS);
    }

    #[test]
    fn two_that_are_given_back_are_no_more_than_both_were() {
        let mut account = account();
        account.charge(5, 0, 1);
        account.charge(5, 0, 2);
        account.charge(1, 600 * MS, 3);
        account.give_back(5, 0, Some(1));
        account.give_back(5, 0, Some(2));
        assert_eq!(account.due_behind(0, 9, 600 * MS), 600 * MS);
        assert_eq!(account.due_behind(0, 10, 600 * MS), 700 * MS);
    }

    #[test]
    fn more_charges_than_are_kept_give_back_less_and_not_more() {
        let mut account = Account::<Std>::new(&per_second(1_000.0).burst(1_000), 0, 0);
        for number in 1..=900 {
            account.charge(1, 0, number);
        }
        assert_eq!(account.leads.0.len(), MOST);
        account.give_back(900, 0, Some(0));
        assert!(account.due_behind(0, 1_000, 0) >= 836 * MS);
    }
}
