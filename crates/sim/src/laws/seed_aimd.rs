use std::time::Instant;

use tidegate_core::{Change, Controller, Sample, Setting};

use crate::laws::tally::Tally;
use crate::laws::{MOST, change};

/// Failure rate of a batch from which on it is halved.
const THRESHOLD: f64 = 0.05;

/// What a good batch adds.
const STEP: f64 = 1.0;

/// What a bad batch leaves.
const KEEP: f64 = 0.5;

/// The articles' AIMD: one step up for each batch that went well, half after one that did not.
///
/// ```text
/// batch = n answers
/// n = n + step     failure rate < threshold
/// n = n / 2        otherwise
/// ```
///
/// The articles name the form. The constants are assumed here: a step of 1, a threshold of 5 %, from
/// 1 on.
#[derive(Clone, Copy, Debug)]
pub struct SeedAimd {
    n: f64,
    tally: Tally,
}

impl SeedAimd {
    /// From 1 on.
    pub fn new() -> Self {
        Self {
            n: 1.0,
            tally: Tally::default(),
        }
    }
}

impl Default for SeedAimd {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for SeedAimd {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        let rate = self.tally.count(sample.outcome, self.n as u32)?;
        let from = self.n;
        if rate < THRESHOLD {
            self.n = (from + STEP).min(MOST);
            change(from, self.n, "a good batch")
        } else {
            self.n = (from * KEEP).floor().max(1.0);
            change(from, self.n, "a bad batch")
        }
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
    fn a_good_batch_adds_one_and_a_bad_one_halves() {
        let (mut feed, mut law) = (Feed::new(10), SeedAimd::new());
        feed.succeed(&mut law, 1 + 2 + 3);
        assert_eq!(limit(&law), 4);
        feed.refuse(&mut law, 4);
        assert_eq!(limit(&law), 2);
    }
}
