use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};

/// What back-pressure leaves.
const KEEP: f64 = 0.9;

/// Weight of a new mean.
const ALPHA: f64 = 0.4;

/// So many deviations above the mean are back-pressure.
const DEVIATIONS: f64 = 2.5;

/// Vector's adaptive request concurrency.
///
/// ```text
/// every mean rtt:   r = mean rtt of the successes since,  (m, σ²) = their EWMA(0.4) before
/// no failure since, r ≤ m, limit reached    n = n + 1
/// a failure since, or r ≥ m + 2.5 σ         n = ⌊0.9 n⌋
/// ```
///
/// Source: Vector RFC 1858, "Automatically Adjust Request Limits", with the defaults of
/// `request.adaptive_concurrency`.
#[derive(Clone, Copy, Debug)]
pub struct VectorArc {
    n: f64,
    past: Option<Past>,
    next: Option<Instant>,
    sum: f64,
    count: u32,
    pressed: bool,
    reached: bool,
}

/// Exponentially weighted mean and variance.
#[derive(Clone, Copy, Debug)]
struct Past {
    mean: f64,
    variance: f64,
}

impl Past {
    fn then(self, point: f64) -> Self {
        let difference = point - self.mean;
        let increment = ALPHA * difference;
        Self {
            mean: self.mean + increment,
            variance: (1.0 - ALPHA) * (self.variance + difference * increment),
        }
    }
}

impl VectorArc {
    /// From 1 on.
    pub fn new() -> Self {
        Self {
            n: 1.0,
            past: None,
            next: None,
            sum: 0.0,
            count: 0,
            pressed: false,
            reached: false,
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    fn adjust(&mut self, past: Past, mean: Option<f64>) {
        let quick = mean.is_some_and(|mean| mean <= past.mean);
        let slow = mean.unwrap_or(0.0) >= past.mean + DEVIATIONS * past.variance.sqrt();
        if self.reached && !self.pressed && quick {
            self.n = (self.n + 1.0).min(MOST);
        } else if self.pressed || slow {
            self.n = (KEEP * self.n).floor().max(1.0);
        }
    }
}

impl Default for VectorArc {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for VectorArc {
    fn on_start(&mut self, _now: Instant, in_flight: usize) {
        self.reached |= in_flight as f64 >= self.n;
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        match (sample.outcome, sample.latency) {
            (Outcome::Success, Some(latency)) => {
                self.sum += latency.as_secs_f64();
                self.count += 1;
            }
            (Outcome::Success | Outcome::Ignored, _) => {}
            (Outcome::Overload(_) | Outcome::Failure, _) => self.pressed = true,
        }
        let mean = self.mean();
        let from = self.n;
        let past = match self.past {
            None => {
                let mean = mean?;
                self.past = Some(Past {
                    mean,
                    variance: 0.0,
                });
                self.next = Some(now + Duration::from_secs_f64(mean));
                return None;
            }
            Some(past) if self.next.is_none_or(|next| now >= next) => past,
            Some(_) => return None,
        };
        self.adjust(past, mean);
        let past = mean.map_or(past, |mean| past.then(mean));
        *self = Self {
            n: self.n,
            past: Some(past),
            next: Some(now + Duration::from_secs_f64(past.mean)),
            ..Self::new()
        };
        change(from, self.n, "a mean round trip")
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
    fn each_mean_round_trip_below_the_mean_adds_one() {
        let (mut feed, mut law) = (Feed::new(10), VectorArc::new());
        feed.succeed(&mut law, 1);
        assert_eq!(limit(&law), 1, "the first sets the mean");
        for _ in 0..5 {
            feed.succeed(&mut law, 8);
        }
        assert_eq!(limit(&law), 6);
    }

    #[test]
    fn a_failure_or_a_slow_round_trip_takes_a_tenth() {
        let (mut feed, mut law) = (Feed::new(10), VectorArc::new());
        for _ in 0..21 {
            feed.succeed(&mut law, 1);
        }
        assert_eq!(limit(&law), 21);
        feed.rtt = 11;
        feed.refuse(&mut law, 1);
        assert_eq!(limit(&law), 18);
        feed.rtt = 30;
        feed.succeed(&mut law, 1);
        assert_eq!(limit(&law), 16);
    }
}
