//! Never more than so many in any window.

use std::collections::VecDeque;

use tidegate_core::{Pace, Start};

/// The times of what was let in, so far as they count.
///
/// ```text
/// take c at now:   Σ costs of those after now − window, + c ≤ count
/// c above count:   allowed once the window is empty; counts for ⌈c / count⌉ windows
/// ```
///
/// Above [`SLOTS`] times that count, times closer than a grain share a slot, which counts for as
/// long as the last of them: never too little, and for at most a grain too long.
#[derive(Debug)]
pub(crate) struct Window {
    count: u64,
    /// Nanoseconds, as all times here.
    length: u64,
    grain: u64,
    slots: VecDeque<Slot>,
    /// What all slots hold.
    used: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u64,
    last: u64,
    cost: u64,
}

/// How many times are kept exactly.
const SLOTS: u32 = 1024;

impl Window {
    pub(crate) fn new(pace: &Pace, now: u64) -> Self {
        let mut window = Self {
            count: 1,
            length: 0,
            grain: 0,
            slots: VecDeque::new(),
            used: 0,
        };
        window.change(pace);
        window.add(
            match pace.start_level() {
                Start::Full => 0,
                Start::One => window.count - 1,
                Start::Empty => window.count,
            },
            now,
        );
        window
    }

    /// Another length and count for what was let in.
    pub(crate) fn change(&mut self, pace: &Pace) {
        let length = pace.window().unwrap_or_default().as_nanos();
        self.count = u64::from(pace.bucket());
        self.length = u64::try_from(length).unwrap_or(u64::MAX / 2);
        self.grain = match pace.bucket() {
            ..=SLOTS => 0,
            _ => self.length / u64::from(SLOTS),
        };
    }

    /// When `cost` may be let in.
    #[cfg(test)]
    fn due(&self, cost: u32) -> u64 {
        self.due_behind(0, u64::from(cost), 0)
    }

    /// When `cost` may be let in behind others that cost `ahead`, if nobody else is before `from`.
    ///
    /// Of each that costs more than the window holds as much is taken to count, so that it may be
    /// later.
    pub(crate) fn due_behind(&self, ahead: u64, cost: u64, from: u64) -> u64 {
        let wanted = ahead + cost.min(self.count);
        if wanted == 0 {
            return from;
        }
        // After a whole window those that were let in leave, in the same order.
        let rounds = (wanted - 1) / self.count;
        let wanted = wanted - rounds * self.count;
        let mut over = (self.used + wanted).saturating_sub(self.count);
        let mut due = from;
        for slot in &self.slots {
            if over == 0 {
                break;
            }
            let part = slot.cost.min(over);
            over -= part;
            due = due.max(self.leaves(slot, part));
        }
        due.saturating_add(rounds.saturating_mul(self.length))
    }

    /// When `part` of a slot has left.
    fn leaves(&self, slot: &Slot, part: u64) -> u64 {
        let rounds = part.div_ceil(self.count);
        slot.last.saturating_add(rounds.saturating_mul(self.length))
    }

    /// Takes `cost` at `now`, whether it is due or not.
    pub(crate) fn take(&mut self, cost: u32, now: u64) {
        self.expire(now);
        self.add(u64::from(cost), now);
    }

    /// `cost` less of what was taken at `at`; if that is not known, of the oldest, which is never too
    /// much.
    pub(crate) fn give_back(&mut self, cost: u32, at: Option<u64>) {
        let mut left = u64::from(cost);
        let from = at.map_or(0, |at| self.slots.partition_point(|slot| slot.last < at));
        for slot in self.slots.iter_mut().skip(from) {
            if at.is_some_and(|at| slot.first > at) {
                break;
            }
            let less = slot.cost.min(left);
            slot.cost -= less;
            self.used -= less;
            left -= less;
        }
        self.slots.retain(|slot| slot.cost > 0);
    }

    /// What was taken at `at` is only sent now.
    pub(crate) fn move_to(&mut self, cost: u32, at: u64, now: u64) {
        if now > at {
            self.give_back(cost, Some(at));
            self.add(u64::from(cost), now);
        }
    }

    fn expire(&mut self, now: u64) {
        while let Some(slot) = self.slots.front_mut()
            && slot.last.saturating_add(self.length) <= now
        {
            let gone = slot.cost.min(self.count);
            slot.cost -= gone;
            slot.last += self.length;
            self.used -= gone;
            if slot.cost == 0 {
                self.slots.pop_front();
            }
        }
        if self.slots.capacity() > 64 && self.slots.len() < self.slots.capacity() / 8 {
            self.slots.shrink_to(self.slots.len() * 2);
        }
    }

    fn add(&mut self, cost: u64, now: u64) {
        if cost == 0 {
            return;
        }
        self.used += cost;
        let now = self.slots.back().map_or(now, |slot| slot.last.max(now));
        match self.slots.back_mut() {
            Some(slot) if now - slot.first.min(now) <= self.grain && slot.cost < self.count => {
                slot.last = now;
                slot.cost += cost;
            }
            _ => self.slots.push_back(Slot {
                first: now,
                last: now,
                cost,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::strict;

    use super::*;

    const MS: u64 = 1_000_000;

    fn window(count: u32) -> Window {
        Window::new(&strict(count, Duration::from_secs(1)), 0)
    }

    /// Takes as soon as it may.
    fn take(window: &mut Window, cost: u32, now: u64) -> u64 {
        let last = window.slots.back().map_or(0, |slot| slot.last);
        let at = window.due(cost).max(now).max(last);
        window.take(cost, at);
        at / MS
    }

    #[test]
    fn each_that_is_let_in_leaves_after_a_whole_window() {
        let mut window = window(3);
        let times = [0, 100, 200, 200, 200, 200, 900].map(|at| take(&mut window, 1, at * MS));
        assert_eq!(times, [0, 100, 200, 1000, 1100, 1200, 2000]);
    }

    #[test]
    fn a_cost_above_the_count_goes_when_the_window_is_empty_and_counts_for_several() {
        let mut window = window(3);
        assert_eq!(take(&mut window, 1, 0), 0);
        assert_eq!(take(&mut window, 7, 0), 1000);
        // Three, three and one: two go beside the last.
        let times = [1, 1, 1].map(|cost| take(&mut window, cost, 0));
        assert_eq!(times, [3000, 3000, 4000]);
        assert_eq!(window.due(0), 0);
    }

    #[test]
    fn what_is_given_back_is_of_its_own_time_or_else_of_the_oldest() {
        for (at, due) in [(Some(0), 100), (Some(100 * MS), 0), (None, 100)] {
            let mut window = window(4);
            window.take(2, 0);
            window.take(2, 100 * MS);
            window.give_back(2, at);
            assert_eq!(window.due(2), 0);
            assert_eq!(window.due(3), (1000 + due) * MS);
        }
    }

    #[test]
    fn what_is_sent_later_than_it_was_taken_counts_from_then() {
        let mut window = window(1);
        window.take(1, 0);
        window.move_to(1, 0, 90 * MS);
        assert_eq!(window.due(1), 1_090 * MS);
    }

    #[test]
    fn what_was_too_little_is_charged_later_and_may_be_a_debt() {
        let mut window = window(4);
        window.take(4, 0);
        window.take(2, 500 * MS);
        assert_eq!(window.due(2), 1_000 * MS);
        assert_eq!(window.due(3), 1_500 * MS);
    }

    #[test]
    fn a_start_level_is_full_one_or_empty() {
        let pace = strict(3, Duration::from_secs(1));
        for (start, times) in [
            (Start::Full, [0, 0, 0, 1000]),
            (Start::One, [0, 1000, 1000, 1000]),
            (Start::Empty, [1000, 1000, 1000, 2000]),
        ] {
            let mut window = Window::new(&pace.start(start), 0);
            assert_eq!([1; 4].map(|cost| take(&mut window, cost, 0)), times);
        }
    }

    #[test]
    fn a_million_in_a_window_are_kept_in_a_thousand_slots_and_never_counted_too_short() {
        let (mut window, mut now, mut log) = (window(1_000_000), 0, Vec::new());
        for step in 0_u64..200_000 {
            // At first one after the other, and then as soon as they may.
            let pause = if step < 27_000 { step % 7 * 1_000 } else { 0 };
            now = window.due(37).max(now + pause);
            window.take(37, now);
            log.push(now);
            assert!(
                window.slots.len() <= SLOTS as usize + 2,
                "{}",
                window.slots.len()
            );
        }
        let whole = 1_000_000 / 37;
        for pair in log.windows(whole + 1) {
            assert!(
                pair[whole] - pair[0] >= 1_000 * MS,
                "{} {}",
                pair[0],
                pair[whole]
            );
        }
        // Seven windows and a part of the eighth, each a grain too long at most.
        assert_eq!(log.len() * 37 / 1_000_000, 7);
        assert!(now < 7_300 * MS, "{now}");
    }

    #[test]
    fn who_stands_behind_others_is_told_when_its_turn_comes() {
        let mut window = window(3);
        for at in [0, 100, 200] {
            window.take(1, at * MS);
        }
        for (ahead, due) in [(0, 1000), (1, 1100), (2, 1200), (3, 2000), (7, 3100)] {
            assert_eq!(window.due_behind(ahead, 1, 0), due * MS, "{ahead}");
        }
    }
}
