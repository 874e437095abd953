use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};

/// Where it starts.
const START: f64 = 10.0;

/// What a failed or slow answer leaves.
const KEEP: f64 = 0.5;

/// AIMD of tower-resilience.
///
/// ```text
/// failed, or slower than threshold    n = max(1, ⌊n / 2⌋)
/// otherwise                           n = n + 1
/// ```
///
/// Each answer counts by itself. Source: `Aimd` of `tower-resilience-adaptive` 0.9, with its
/// defaults but for the threshold: at its 100 ms a slower service never leaves 1.
#[derive(Clone, Copy, Debug)]
pub struct TowerResilienceAimd {
    n: f64,
    threshold: Duration,
}

impl TowerResilienceAimd {
    /// From 10 on.
    pub fn new(threshold: Duration) -> Self {
        Self {
            n: START,
            threshold,
        }
    }
}

impl Controller for TowerResilienceAimd {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        let from = self.n;
        let slow = sample
            .latency
            .is_some_and(|latency| latency > self.threshold);
        self.n = match sample.outcome {
            Outcome::Ignored => return None,
            Outcome::Success if !slow => (from + 1.0).min(MOST),
            _ => (KEEP * from).floor().max(1.0),
        };
        change(from, self.n, "an answer")
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(1.0, MOST).floor();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn each_slow_or_failed_answer_halves() {
        let (mut feed, mut law) = (Feed::new(900), TowerResilienceAimd::new(SECOND));
        feed.succeed(&mut law, 30);
        assert_eq!(limit(&law), 40);
        feed.refuse(&mut law, 2);
        assert_eq!(limit(&law), 10);
        feed.rtt = 1_001;
        feed.succeed(&mut law, 1);
        assert_eq!(limit(&law), 5);
    }

    const SECOND: Duration = Duration::from_secs(1);
}
