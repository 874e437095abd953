//! How those come back whom a service asked to stay away.

/// How long the first of them are few, in nanoseconds.
const RAMP: u64 = 1_000_000_000;
/// Nobody waits longer for the end of the pause, unless told otherwise.
const LONGEST: u64 = 60_000_000_000;
/// No two enter closer than this, so that no two are sent within one millisecond.
const APART: u64 = 1_000_000;

/// A pause that a service asked for. All that wait for its end know the same moment, in this process
/// and in others, so that they would come back at once: they enter one after the other, with gaps of
/// random length that only add.
///
/// ```text
/// gap = max(RAMP / most / 2^s, APART) · (1 + u)
///       most: how many may be inside, or the burst;  s: whole seconds since the end;  0 ≤ u < 1
/// ```
///
/// So in the first second at most `most` of them enter. After that second it is over when nobody
/// else waits, or when the gaps are as short as they get.
///
/// Times are nanoseconds on the door's clock.
#[derive(Debug)]
pub(crate) struct Cooldown {
    /// Until when the service asked for quiet; 0 if it did not, or it is over.
    until: u64,
    /// Nobody waits longer than this for its end.
    longest: u64,
    /// When the pause ended, once it has.
    ended: Option<u64>,
    /// When the next one may enter, once it has ended.
    next: u64,
    random: u64,
}

impl Cooldown {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            until: 0,
            longest: LONGEST,
            ended: None,
            next: 0,
            random: seed,
        }
    }

    /// Extends it.
    pub(crate) fn ask(&mut self, until: u64) {
        self.until = self.until.max(until);
        self.ended = None;
    }

    pub(crate) fn stop(&mut self) {
        self.until = 0;
        self.ended = None;
    }

    pub(crate) fn is_on(&self) -> bool {
        self.until != 0
    }

    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    pub(crate) fn set_longest(&mut self, longest: u64) {
        self.longest = longest;
    }

    /// Whether nobody waits for its end.
    pub(crate) fn is_too_long(&self, now: u64) -> bool {
        self.until.saturating_sub(now) > self.longest
    }

    /// The pause ended at `at`.
    pub(crate) fn end(&mut self, at: u64, most: usize) {
        if self.is_on() {
            self.ended = Some(at);
            self.next = at + self.random_part(self.shortest(at, most));
        }
    }

    /// When the first of so many that wait may enter, if that is later.
    pub(crate) fn holds_until(&mut self, now: u64, waiting: usize, most: usize) -> Option<u64> {
        let ended = self.ended?;
        if self.next > now {
            return Some(self.next);
        }
        let is_last = waiting == 1 || self.shortest(now, most) == APART;
        if is_last && now - ended >= RAMP {
            self.stop();
        }
        None
    }

    /// One enters.
    pub(crate) fn enters(&mut self, now: u64, most: usize) {
        if self.ended.is_some() {
            let gap = self.shortest(now, most);
            self.next = now + gap + self.random_part(gap);
        }
    }

    fn shortest(&self, now: u64, most: usize) -> u64 {
        let seconds = now.saturating_sub(self.ended.unwrap_or(now)) / RAMP;
        let halved = (RAMP / most.max(1) as u64) >> seconds.min(63);
        halved.max(APART)
    }

    /// From 0 up to `of`, without it. SplitMix64 (Steele, Lea and Flood 2014), scaled.
    fn random_part(&mut self, of: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * u128::from(of)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters as soon as it may, with so many behind the first.
    fn entries(seed: u64, waiting: usize, most: usize) -> Vec<u64> {
        let mut cooldown = Cooldown::seeded(seed);
        cooldown.ask(600 * RAMP);
        cooldown.end(600 * RAMP, most);
        let mut now = 600 * RAMP;
        let enter = |behind| {
            while let Some(next) = cooldown.holds_until(now, behind + 1, most) {
                now = next;
            }
            cooldown.enters(now, most);
            now - 600 * RAMP
        };
        (0..waiting).rev().map(enter).collect()
    }

    #[test]
    fn none_is_early_no_two_are_together_and_in_the_first_second_are_no_more_than_may_be_inside() {
        for seed in 0..1_000 {
            for (waiting, most) in [(20, 1), (20, 5), (20, 10), (300, 16), (600, 1_000_000)] {
                let entries = entries(seed, waiting, most);
                let apart = entries.windows(2).all(|pair| pair[1] >= pair[0] + APART);
                assert!(apart, "seed {seed}");
                let first = entries.iter().filter(|at| **at < RAMP).count();
                assert!(
                    first <= most && first >= (most / 2).min(waiting / 2).min(450),
                    "{first}"
                );
            }
        }
    }

    #[test]
    fn the_gaps_are_half_as_long_each_second_so_that_a_long_queue_is_gone_soon() {
        let last = *entries(7, 300, 16).last().unwrap();
        assert!((4 * RAMP..6 * RAMP).contains(&last), "{last}");
    }

    #[test]
    fn other_processes_come_back_at_other_moments() {
        let firsts: std::collections::BTreeSet<_> = (0..100)
            .map(|seed| entries(seed, 1, 10)[0] / APART)
            .collect();
        assert!(firsts.len() > 50, "{} of 100 milliseconds", firsts.len());
    }

    #[test]
    fn it_is_over_after_a_second_when_nobody_else_waits_or_the_gaps_are_short() {
        for (after, waiting, is_on) in [
            (RAMP - 1, 1, true),
            (RAMP, 1, false),
            (3 * RAMP, 2, true),
            (4 * RAMP, 2, false),
        ] {
            let mut cooldown = Cooldown::seeded(1);
            cooldown.ask(10);
            cooldown.end(10, 100);
            assert_eq!(cooldown.holds_until(10 + after, waiting, 100), None);
            assert_eq!(cooldown.is_on(), is_on, "{waiting} after {after}");
        }
    }

    #[test]
    fn as_long_as_the_longest_is_not_too_long() {
        let mut cooldown = Cooldown::seeded(1);
        assert!(!cooldown.is_too_long(0));
        cooldown.ask(LONGEST);
        assert!(!cooldown.is_too_long(0));
        cooldown.ask(LONGEST + 1);
        assert!(cooldown.is_too_long(0));
        assert!(!cooldown.is_too_long(1));
    }
}
