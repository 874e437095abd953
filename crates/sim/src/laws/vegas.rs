use std::time::Instant;

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};
use crate::random::Random;

/// Where it starts.
const START: f64 = 20.0;

/// About so many answers per unit of limit until the base is measured again.
const PROBE: f64 = 30.0;

/// Vegas of Netflix's concurrency-limits.
///
/// ```text
/// q = ⌈n (1 − base / rtt)⌉       base = least rtt, set anew every 15 … 30 n answers
/// g = max(1, ⌊log₁₀ n⌋)
/// dropped          n = n − g
/// in flight < n/2  n stays
/// q ≤ g            n = n + 6 g
/// q < 3 g          n = n + g
/// q > 6 g          n = n − g
/// ```
///
/// Source: `VegasLimit` of `com.netflix.concurrency-limits`, with its defaults; L. Brakmo,
/// L. Peterson, "TCP Vegas" (1995).
#[derive(Clone, Debug)]
pub struct Vegas {
    n: f64,
    base: Option<f64>,
    answers: f64,
    jitter: f64,
    random: Random,
}

impl Vegas {
    /// From 20 on. The seed is for the jitter of its probes, which draws other numbers than a run
    /// with that seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(!seed);
        Self {
            n: START,
            base: None,
            answers: 0.0,
            jitter: jitter(&mut random),
            random,
        }
    }

    fn step(&self, rtt: f64, base: f64, sample: &Sample) -> f64 {
        let queue = (self.n * (1.0 - base / rtt)).ceil();
        let gain = self.n.log10().floor().max(1.0);
        if sample.outcome.is_overload() {
            self.n - gain
        } else if 2.0 * (sample.in_flight_at_start as f64) < self.n {
            self.n
        } else if queue <= gain {
            self.n + 6.0 * gain
        } else if queue < 3.0 * gain {
            self.n + gain
        } else if queue > 6.0 * gain {
            self.n - gain
        } else {
            self.n
        }
    }
}

fn jitter(random: &mut Random) -> f64 {
    0.5 + 0.5 * random.unit()
}

impl Controller for Vegas {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        if matches!(sample.outcome, Outcome::Ignored | Outcome::Failure) {
            return None;
        }
        let rtt = sample.latency?.as_secs_f64();
        self.answers += 1.0;
        if self.answers >= self.jitter * PROBE * self.n {
            self.jitter = jitter(&mut self.random);
            self.answers = 0.0;
            self.base = Some(rtt);
            return None;
        }
        match self.base {
            Some(base) if rtt >= base => {
                let from = self.n;
                self.n = self.step(rtt, base, sample).clamp(1.0, MOST);
                change(from, self.n, "an answer")
            }
            _ => {
                self.base = Some(rtt);
                None
            }
        }
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(1.0, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn it_grows_while_there_is_no_queue_and_shrinks_in_a_long_one() {
        let (mut feed, mut law) = (Feed::new(10), Vegas::new(1));
        feed.succeed(&mut law, 2);
        assert_eq!(limit(&law), 26, "the first sets the base");
        feed.rtt = 20;
        feed.succeed(&mut law, 3);
        assert_eq!(limit(&law), 23);
        feed.rtt = 12;
        feed.succeed(&mut law, 3);
        assert_eq!(limit(&law), 23, "four in the queue are right");
    }
}
