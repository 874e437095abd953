use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};

/// Where it starts.
const START: f64 = 10.0;

/// What an answer that was dropped leaves.
const KEEP: f64 = 0.9;

/// A slower answer counts as dropped.
const SLOW: Duration = Duration::from_secs(5);

/// AIMD of Netflix's concurrency-limits, and of its ports to other languages.
///
/// ```text
/// dropped, or slower than 5 s      n = max(1, min(n − 1, ⌊0.9 n⌋))
/// otherwise, in flight ≥ n / 2     n = n + 1
/// ```
///
/// Each answer counts by itself. Source: `AIMDLimit` of `com.netflix.concurrency-limits`, with its
/// defaults.
#[derive(Clone, Copy, Debug)]
pub struct NetflixAimd {
    n: f64,
}

impl NetflixAimd {
    /// From 10 on.
    pub fn new() -> Self {
        Self { n: START }
    }
}

impl Default for NetflixAimd {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for NetflixAimd {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        let from = self.n;
        let slow = sample.latency.is_some_and(|latency| latency > SLOW);
        match sample.outcome {
            Outcome::Ignored | Outcome::Failure => return None,
            Outcome::Overload(_) => self.cut(),
            Outcome::Success if slow => self.cut(),
            Outcome::Success if 2.0 * sample.in_flight_at_start as f64 >= from => {
                self.n = (from + 1.0).min(MOST);
            }
            Outcome::Success => {}
        }
        change(from, self.n, "an answer")
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(1.0, MOST).floor();
    }
}

impl NetflixAimd {
    fn cut(&mut self) {
        self.n = (self.n - 1.0).min((KEEP * self.n).floor()).max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn every_answer_counts_by_itself() {
        let (mut feed, mut law) = (Feed::new(10), NetflixAimd::new());
        feed.succeed(&mut law, 30);
        assert_eq!(limit(&law), 40);
        feed.refuse(&mut law, 2);
        assert_eq!(limit(&law), 32);
        feed.refuse(&mut law, 60);
        assert_eq!(limit(&law), 1);
    }

    #[test]
    fn five_seconds_are_a_drop() {
        let (mut feed, mut law) = (Feed::new(5_001), NetflixAimd::new());
        feed.succeed(&mut law, 1);
        assert_eq!(limit(&law), 9);
    }
}
