use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Reason, Sample, Setting};

use crate::estimator::{Estimator, Round, Share, Term, Verdict};
use crate::{Bounds, Invalid};

/// Share of overloads above which the limit is cut.
const OVERLOADED: f64 = 0.06;

/// What a cut leaves of the limit.
const KEEP: f64 = 0.75;

/// Finds the limit from nothing: no capacity, no rate and no budget need to be known.
///
/// It doubles each round trip until latency or refusals say that the service is full, and then keeps
/// a short queue of its own there, about `1.5 + √n` requests. Ten seconds apart it halves the limit
/// for one round to see what latency is without that queue.
///
/// ```text
/// overloads > 6 % of a round and 2 deviations:  n = 0.75 n, below the old n for max(5 s, latency)
/// otherwise:                                    n = n + (α − q)/2, and the probes
/// ```
///
/// The whole law stands in [the crate's documentation](crate#the-rules). Plain failures do not count.
/// A service that limits a rate is paced; see [`Setting::pace`]. It was built to be driven alone:
/// stacked on another adaptive limiter it does worse than either.
///
/// ```
/// use std::time::Duration;
/// use tidegate_control::Prober;
/// use tidegate_core::Controller;
///
/// let law = Prober::new(Duration::from_secs(1_700_000_000)).max(500);
/// assert_eq!(law.setting().limit, 1.0);
/// ```
#[derive(Clone, Debug)]
pub struct Prober(Estimator<Cut>);

/// Rule 4: cut, and hold.
#[derive(Clone, Copy, Debug)]
struct Cut;

impl Term for Cut {
    fn share(&self) -> f64 {
        OVERLOADED
    }

    fn failed(&self, n: f64, round: &Round) -> Share {
        round.overloads(n)
    }

    fn judge(&mut self, n: f64, round: &Round, accepted: f64, overloaded: bool) -> Verdict {
        if !overloaded {
            return Verdict::Free;
        }
        let Share { bad, of } = round.overloads(n);
        Verdict::Cut(
            KEEP * n,
            Reason::Overloaded {
                overloaded: bad,
                of,
                threshold: accepted,
            },
        )
    }
}

impl Prober {
    /// From limit 1 on, between 1 and 5,000.
    ///
    /// `phase` is the wall clock at the first instant that the law sees, such as the time since the
    /// Unix epoch: clients of one service whose clocks agree measure its latency together.
    pub fn new(phase: Duration) -> Self {
        Self(Estimator::new(phase, Cut))
    }

    /// The limit at first; default 1. A good guess saves the doubling, a bad one costs a few round
    /// trips.
    #[must_use]
    pub fn start(mut self, limit: usize) -> Self {
        self.0.start(limit);
        self
    }

    /// The least limit; default 1.
    ///
    /// # Panics
    ///
    /// If it is 0 or above the greatest.
    #[must_use]
    #[track_caller]
    pub fn min(self, min: usize) -> Self {
        let max = self.bounds().max();
        self.within(Bounds::new(min, max))
    }

    /// The greatest limit; default 5,000.
    ///
    /// # Panics
    ///
    /// If it is below the least.
    #[must_use]
    #[track_caller]
    pub fn max(self, max: usize) -> Self {
        let min = self.bounds().min();
        self.within(Bounds::new(min, max))
    }

    /// Between which limits it moves.
    pub fn bounds(&self) -> Bounds {
        self.0.bounds()
    }

    /// Moves the bounds while it runs, and the limit with them only as far as they ask.
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.0.set_bounds(bounds);
    }

    #[track_caller]
    fn within(mut self, bounds: Result<Bounds, Invalid>) -> Self {
        match bounds {
            Ok(bounds) => self.set_bounds(bounds),
            Err(invalid) => panic!("{invalid}"),
        }
        self
    }
}

impl Controller for Prober {
    fn on_start(&mut self, now: Instant, _in_flight: usize) {
        self.0.on_start(now);
    }

    fn watches_starts(&self) -> bool {
        self.0.watches_starts()
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.0.on_sample(now, sample)
    }

    fn setting(&self) -> Setting {
        self.0.setting()
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        self.0.move_to(now, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{THROTTLED, Trial, UNAVAILABLE};
    use tidegate_core::{Outcome, Units};

    fn started(n: usize) -> Trial<Prober> {
        let mut trial = Trial::new(Prober::new(Duration::ZERO).start(n));
        trial.law.move_to(trial.now, n as f64);
        for _ in 0..3 {
            trial.wave(50.ms(), Outcome::Success);
        }
        trial
    }

    #[test]
    fn the_start_doubles_each_round_trip() {
        let mut trial = Trial::new(Prober::new(Duration::ZERO));
        for _ in 0..8 {
            trial.wave(50.ms(), Outcome::Success);
        }
        assert!(trial.limit() >= 255.0, "{}", trial.limit());
    }

    #[test]
    fn a_burst_of_overloads_cuts_once() {
        let mut trial = started(100);
        let before = trial.limit();
        let changes = trial.wave(50.ms(), UNAVAILABLE);
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert!((trial.limit() - KEEP * before).abs() < 1e-9);
        let words = changes[0].reason.to_string();
        assert!(words.ends_with("overloaded, above 6 %"), "{words}");
    }

    /// They had their permits before the cut, and went out after it.
    #[test]
    fn overloads_of_requests_that_were_let_in_under_a_larger_limit_do_not_cut_again() {
        let mut trial = started(100);
        trial.wave(50.ms(), UNAVAILABLE);
        let cut = trial.limit();
        trial.law.on_start(trial.now, 100);
        trial.wait(1.ms());
        for _ in 0..60 {
            assert_eq!(trial.answer_with(100, 1.ms(), UNAVAILABLE), None);
        }
        // Those that were not are heard.
        for _ in 0..60 {
            trial.answer_with(50, 1.ms(), UNAVAILABLE);
        }
        assert!(trial.limit() < cut, "{}", trial.limit());
    }

    #[test]
    fn an_overload_that_takes_no_time_is_cut_again() {
        let mut trial = started(100);
        for _ in 0..6 {
            trial.wave(0.ms(), UNAVAILABLE);
        }
        assert!(trial.limit() < 30.0, "{}", trial.limit());
    }

    #[test]
    fn a_queue_lowers_the_limit_and_says_how_many_stand_in_it() {
        let mut trial = Trial::new(Prober::new(Duration::ZERO));
        for _ in 0..8 {
            trial.wave(50.ms(), Outcome::Success);
        }
        let changes: Vec<_> = (0..4)
            .flat_map(|_| trial.wave(200.ms(), Outcome::Success))
            .filter(|change| matches!(change.reason, Reason::Queued { .. }))
            .collect();
        assert!(changes[0].to.limit < changes[0].from.limit);
        let words = changes[0].reason.to_string();
        assert!(words.starts_with("latency grew "), "{words}");
    }

    #[test]
    fn an_idle_limit_neither_falls_nor_grows() {
        let mut trial = started(100);
        let before = trial.limit();
        for _ in 0..3_000 {
            trial.wait(100.ms());
            trial.law.on_start(trial.now, 1);
            trial.wait(50.ms());
            assert_eq!(trial.answer_with(1, 50.ms(), Outcome::Success), None);
        }
        assert!((trial.limit() - before).abs() < 1e-9);
    }

    /// A probe ends by answers, not by time. It takes half the limit from nobody who needs less, and
    /// two round trips of traffic end it.
    #[test]
    fn a_probe_that_traffic_leaves_holds_nobody_back() {
        let mut trial = started(100);
        trial.wait(10.s());
        let mut waves = 0;
        while trial.limit() > 60.0 {
            trial.wave(50.ms(), Outcome::Success);
            waves += 1;
            assert!(waves < 10, "no probe");
        }
        let half = trial.limit();
        for _ in 0..60 {
            trial.wait(9_950.ms());
            trial.law.on_start(trial.now, 1);
            trial.wait(50.ms());
            trial.answer_with(1, 50.ms(), Outcome::Success);
            assert!(trial.limit() >= half);
        }
        trial.wave(50.ms(), Outcome::Success);
        trial.wave(50.ms(), Outcome::Success);
        assert!(trial.limit() > 90.0, "{}", trial.limit());
    }

    /// Each takes as long as those before it in a queue in front of 100 workers.
    #[test]
    fn a_probe_goes_no_deeper_from_below_the_queue() {
        let mut trial = Trial::new(Prober::new(Duration::ZERO));
        let mut deeper = Vec::new();
        for _ in 0..20 {
            let latency = 50.ms().mul_f64((trial.limit() / 100.0).max(1.0));
            let changes = trial.wave(latency, Outcome::Success);
            deeper.extend(
                changes
                    .into_iter()
                    .filter(|change| matches!(change.reason, Reason::ProbingDeeper { .. })),
            );
        }
        let from: Vec<f64> = deeper.iter().map(|change| change.from.limit).collect();
        assert_eq!(from, [115.0]);
    }

    #[test]
    fn a_thousand_quiet_seconds_change_nothing() {
        let mut trial = started(100);
        let before = trial.law.setting();
        trial.wait(1_000.s());
        assert_eq!(trial.law.setting(), before);
        trial.law.on_start(trial.now, 1);
        trial.wait(50.ms());
        trial.answer_with(1, 50.ms(), Outcome::Success);
        assert_eq!(trial.law.setting(), before);
    }

    #[test]
    fn a_dead_service_is_asked_less_and_less() {
        let mut trial = started(8);
        for _ in 0..40 {
            trial.wave(10.ms(), UNAVAILABLE);
        }
        assert!((trial.limit() - 1.0).abs() < 1e-9);
        let until = trial.law.setting().pause_until.unwrap();
        assert!(until > trial.now + 900.ms() && until <= trial.now + 1.s());
        let change = trial.answer(50.ms(), Outcome::Success).unwrap();
        assert!(change.to.limit > 1.0, "{change:?}");
    }

    /// The laws share this: cuts in an outage are no reason to grow slowly after it.
    #[test]
    fn an_outage_leaves_the_limit_where_it_was_as_soon_as_doubling_gets_there() {
        let mut trial = started(100);
        let before = trial.limit();
        for _ in 0..20 {
            trial.wave(5.ms(), UNAVAILABLE);
        }
        assert!((trial.limit() - 1.0).abs() < 0.5, "{}", trial.limit());
        trial.wait(1.s());
        let mut limits = Vec::new();
        while trial.limit() < before {
            trial.wave(50.ms(), Outcome::Success);
            limits.push(trial.limit() as usize);
        }
        assert_eq!(limits[..6], [2, 4, 8, 16, 32, 64]);
        assert_eq!(limits[6..], [before.ceil() as usize]);
        for _ in 0..2 {
            trial.wave(50.ms(), Outcome::Success);
        }
        assert!(trial.limit() < 1.2 * before, "{}", trial.limit());
    }

    #[test]
    fn an_outage_that_says_429_is_not_taken_for_one() {
        let mut trial = started(100);
        let before = trial.limit();
        for _ in 0..4 {
            trial.wave(5.ms(), THROTTLED);
        }
        for _ in 0..4 {
            trial.wave(50.ms(), Outcome::Success);
        }
        assert!(trial.limit() < 0.7 * before, "{}", trial.limit());
    }

    #[test]
    fn a_limit_that_fails_on_the_way_back_is_given_up() {
        let mut trial = started(100);
        let before = trial.limit();
        for _ in 0..6 {
            trial.wave(5.ms(), UNAVAILABLE);
        }
        trial.wait(100.ms());
        trial.wave(50.ms(), Outcome::Success);
        let changes = trial.wave(50.ms(), UNAVAILABLE);
        let cut = |change: &Change| matches!(change.reason, Reason::Overloaded { .. });
        assert!(changes.iter().any(cut), "{changes:?}");
        for _ in 0..4 {
            trial.wave(50.ms(), Outcome::Success);
        }
        assert!(trial.limit() < 0.7 * before, "{}", trial.limit());
    }

    #[test]
    fn a_pause_that_is_asked_for_is_kept_and_cuts_once() {
        let mut trial = started(40);
        let before = trial.limit();
        let sample = Sample {
            started: trial.now.checked_sub(5.ms()).unwrap(),
            latency: Some(5.ms()),
            in_flight_at_start: 40,
            in_flight: 40,
            outcome: THROTTLED,
            retry_after: Some(2.s()),
        };
        for _ in 0..40 {
            trial.law.on_sample(trial.now, &sample);
        }
        assert_eq!(trial.law.setting().pause_until, Some(trial.now + 2.s()));
        assert!((trial.limit() - KEEP * before).abs() < 1e-9);
    }

    #[test]
    fn single_strays_among_thousands_change_nothing() {
        let mut trial = started(10);
        let reset = Outcome::Overload(tidegate_core::Cause::Connection);
        let mut changes = Vec::new();
        for _ in 0..30 {
            changes.extend(trial.answer(1.ms(), reset));
            for _ in 0..20 {
                changes.extend(trial.wave(50.ms(), Outcome::Success));
            }
        }
        let cut = |change: &Change| matches!(change.reason, Reason::Overloaded { .. });
        assert!(!changes.iter().any(cut), "{changes:?}");
    }

    #[test]
    fn a_limit_moved_by_hand_is_where_it_goes_on() {
        let mut trial = started(100);
        trial.law.move_to(trial.now, 30.0);
        assert!((trial.limit() - 30.0).abs() < 1e-9);
        trial.wave(50.ms(), Outcome::Success);
        trial.wave(50.ms(), Outcome::Success);
        assert!((30.0..45.0).contains(&trial.limit()), "{}", trial.limit());
    }

    #[test]
    #[should_panic(expected = "a limit's bounds must be from 1 to max, not 0")]
    fn a_least_limit_of_none_is_refused() {
        let _ = Prober::new(Duration::ZERO).min(0);
    }
}
