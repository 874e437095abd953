use std::time::{Duration, Instant};

use tidegate_core::{Change, Controller, Outcome, Sample, Setting};

use crate::laws::{MOST, change};

/// The least (RFC 5681 §3.1), and where it starts (RFC 6928).
const LEAST: f64 = 2.0;
const START: f64 = 10.0;

/// RFC 9438 §4.6 and §5.
const KEEP: f64 = 0.7;
const C: f64 = 0.4;

/// CUBIC, on requests instead of segments.
///
/// ```text
/// before the first loss     n = n + 1 per success
/// loss                      w = n, or (1 + β) n / 2 if n fell short of the last w;  n = max(2, β n)
/// W(t) = C (t − K)³ + w     K = ∛((w − n₀) / C)
/// success                   n = n + (clamp(W(t + rtt), n, 1.5 n) − n) / n,  at least Reno's n
/// ```
///
/// β = 0.7, C = 0.4; one cut per round trip; latency is no signal. Source: RFC 9438.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    n: f64,
    reno: f64,
    top: f64,
    epoch: Option<Epoch>,
    cut: Option<Instant>,
}

/// Since a cut.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    since: Instant,
    k: f64,
}

impl Cubic {
    /// From 10 on.
    pub fn new() -> Self {
        Self {
            n: START,
            reno: START,
            top: 0.0,
            epoch: None,
            cut: None,
        }
    }

    fn lose(&mut self, now: Instant) {
        let short = self.epoch.is_some() && self.n < self.top;
        self.top = if short {
            self.n * (1.0 + KEEP) / 2.0
        } else {
            self.n
        };
        self.n = (KEEP * self.n).max(LEAST);
        self.reno = self.n;
        self.cut = Some(now);
        self.epoch = Some(Epoch {
            since: now,
            k: ((self.top - self.n).max(0.0) / C).cbrt(),
        });
    }

    fn grow(&mut self, now: Instant, rtt: Duration) {
        let Some(Epoch { since, k }) = self.epoch else {
            self.n += 1.0;
            return;
        };
        let t = (now.saturating_duration_since(since) + rtt).as_secs_f64();
        let target = (C * (t - k).powi(3) + self.top).clamp(self.n, 1.5 * self.n);
        self.n += (target - self.n) / self.n;
        self.reno += 3.0 * (1.0 - KEEP) / (1.0 + KEEP) / self.reno;
        self.n = self.n.max(self.reno);
    }
}

impl Default for Cubic {
    fn default() -> Self {
        Self::new()
    }
}

impl Controller for Cubic {
    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        let from = self.n;
        match sample.outcome {
            Outcome::Ignored | Outcome::Failure => return None,
            Outcome::Overload(_) if self.cut.is_some_and(|cut| sample.started < cut) => {
                return None;
            }
            Outcome::Overload(_) => self.lose(now),
            Outcome::Success if 2 * sample.in_flight_at_start < from as usize => return None,
            Outcome::Success => self.grow(now, sample.latency?),
        }
        self.n = self.n.min(MOST);
        change(from, self.n, "an answer")
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.n)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.n = limit.clamp(LEAST, MOST);
        self.reno = self.n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::feed::{Feed, limit};

    #[test]
    fn many_losses_of_one_round_trip_are_one_cut() {
        let (mut feed, mut law) = (Feed::new(10), Cubic::new());
        feed.succeed(&mut law, 90);
        assert_eq!(limit(&law), 100);
        feed.refuse(&mut law, 50);
        assert_eq!(limit(&law), 70);
    }

    #[test]
    fn it_is_back_at_its_top_after_k_seconds() {
        let (mut feed, mut law) = (Feed::new(200), Cubic::new());
        feed.succeed(&mut law, 90);
        feed.refuse(&mut law, 1);
        let k = (30.0_f64 / C).cbrt();
        for _ in 0..(k * 5.0) as u32 {
            feed.succeed(&mut law, 100);
        }
        assert!((99..=101).contains(&limit(&law)), "{law:?}");
    }
}
