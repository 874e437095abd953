use std::time::Instant;

use tidegate_core::{Change, Controller, Sample, Setting};

use crate::laws::tally::Tally;
use crate::laws::{MOST, change};

/// Failure rate that it aims at.
const SETPOINT: f64 = 0.05;

/// A batch holds at least so many answers.
const BATCH: u32 = 8;

const KP: f64 = 1.0;
const KI: f64 = 0.5;
const KD: f64 = 0.1;

/// The articles' PID: its output is the limit itself.
///
/// ```text
/// batch = max(n, 8) answers      e = setpoint − failure rate
/// n = clamp(kp e + ki Σe + kd Δe, 1, max)      Σe held within the same bounds
/// ```
///
/// The articles name the form. The constants are assumed here: a setpoint of 5 %, `kp` 1, `ki` 0.5,
/// `kd` 0.1, batches of at least 8. The error of a batch without failures is 0.05, so it adds 0.025
/// to the limit.
#[derive(Clone, Copy, Debug)]
pub struct SeedPid {
    n: f64,
    integral: f64,
    last: f64,
    tally: Tally,
}

impl SeedPid {
    /// From 1 on.
    pub fn new() -> Self {
        Self {
            n: 1.0,
            integral: 1.0 / KI,
            last: 0.0,
            tally: Tally::default(),
        }
    }
}

impl Default for SeedPid {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for SeedPid {
    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        let rate = self
            .tally
            .count(sample.outcome, (self.n as u32).max(BATCH))?;
        let error = SETPOINT - rate;
        self.integral = (self.integral + error).clamp(1.0 / KI, MOST / KI);
        let output = KP * error + KI * self.integral + KD * (error - self.last);
        self.last = error;
        let from = self.n;
        self.n = output.clamp(1.0, MOST);
        change(from, self.n, "a batch")
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(1.0, MOST);
        self.integral = self.n / KI;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn a_good_batch_adds_a_fortieth() {
        let (mut feed, mut law) = (Feed::new(10), SeedPid::new());
        feed.succeed(&mut law, 38 * BATCH);
        assert_eq!(limit(&law), 1);
        feed.succeed(&mut law, BATCH);
        assert_eq!(limit(&law), 2);
    }

    #[test]
    fn a_long_outage_does_not_wind_it_up() {
        let (mut feed, mut law) = (Feed::new(10), SeedPid::new());
        feed.refuse(&mut law, 1_000 * BATCH);
        feed.succeed(&mut law, 40 * BATCH);
        assert_eq!(limit(&law), 2);
    }
}
