use std::time::Instant;

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};

/// Where it starts, and the least.
const LEAST: f64 = 20.0;

/// How many requests may stand in a queue.
const QUEUE: f64 = 4.0;

/// Weight of a new limit.
const SMOOTHING: f64 = 0.2;

/// Samples of the long average, and how many it takes plainly at first.
const WINDOW: f64 = 600.0;
const WARM: u32 = 10;

/// What is left of a long average that is more than twice the sample.
const DRIFT: f64 = 0.9;

/// Gradient2 of Netflix's concurrency-limits.
///
/// ```text
/// long = average of rtt over 600 samples; · 0.9 while long > 2 rtt
/// gradient = clamp(long / rtt, 0.5, 1)
/// n = 0.8 n + 0.2 (gradient n + 4)         in flight ≥ n / 2
/// ```
///
/// An answer that was dropped counts by its time alone. Source: `Gradient2Limit` of
/// `com.netflix.concurrency-limits`, with its defaults.
#[derive(Clone, Copy, Debug)]
pub struct Gradient2 {
    n: f64,
    long: f64,
    samples: u32,
}

impl Gradient2 {
    /// From 20 on.
    pub fn new() -> Self {
        Self {
            n: LEAST,
            long: 0.0,
            samples: 0,
        }
    }

    /// The long average with one more sample.
    fn average(&mut self, rtt: f64) -> f64 {
        if self.samples < WARM {
            self.samples += 1;
            self.long += (rtt - self.long) / f64::from(self.samples);
        } else {
            self.long += (rtt - self.long) * 2.0 / (WINDOW + 1.0);
        }
        self.long
    }
}

impl Default for Gradient2 {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for Gradient2 {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        if matches!(sample.outcome, Outcome::Ignored | Outcome::Failure) {
            return None;
        }
        let rtt = sample.latency?.as_secs_f64().max(1e-9);
        let long = self.average(rtt);
        if long > 2.0 * rtt {
            self.long *= DRIFT;
        }
        let from = self.n;
        if (sample.in_flight_at_start as f64) < from / 2.0 {
            return None;
        }
        let gradient = (long / rtt).clamp(0.5, 1.0);
        let n = from * (1.0 - SMOOTHING) + SMOOTHING * (from * gradient + QUEUE);
        self.n = n.clamp(LEAST, MOST);
        change(from, self.n, "an answer")
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn it_grows_by_its_queue_while_latency_is_level() {
        let (mut feed, mut law) = (Feed::new(10), Gradient2::new());
        feed.succeed(&mut law, 10);
        assert_eq!(limit(&law), 28);
    }

    #[test]
    fn twice_the_latency_takes_a_tenth() {
        let (mut feed, mut law) = (Feed::new(10), Gradient2::new());
        feed.succeed(&mut law, 100);
        assert_eq!(limit(&law), 100);
        feed.rtt = 30;
        feed.succeed(&mut law, 1);
        assert_eq!(limit(&law), 90);
    }
}
