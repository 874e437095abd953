use std::time::Duration;

use crate::engine::MAX_LIMIT;
use crate::scenario::{Scenario, ServerKind};

/// About how many requests in flight a scenario can use, at a capacity and a round trip.
///
/// ```text
/// l = m + rtt + jitter                     m: mean service
/// rate-limited  R · l
/// fifo, ps      c · l / m
/// usl           n* + X(n*) · (l − m)       n* = √((1 − α) / β)
/// ```
pub(super) fn guess(scenario: &Scenario, capacity: f64, rtt: Duration) -> f64 {
    let way = rtt.as_secs_f64() + scenario.mean_jitter();
    let mean = scenario.server.service.mean().max(1e-9);
    let guess = match scenario.server.kind {
        ServerKind::Fifo { workers, .. } => f64::from(workers) * capacity * (mean + way) / mean,
        ServerKind::Ps { capacity: full } => full * capacity * (mean + way) / mean,
        ServerKind::Usl { alpha, beta } => {
            let best = ((1.0 - alpha).max(0.0) / beta)
                .sqrt()
                .clamp(1.0, MAX_LIMIT as f64);
            let slowdown = 1.0 + (best - 1.0) * (alpha + beta * best);
            best + capacity * best / (mean * slowdown) * way
        }
        ServerKind::Bucket { .. } | ServerKind::Window { .. } => {
            scenario.rate().unwrap_or(0.0) * capacity * (mean + way)
        }
    };
    guess.min(MAX_LIMIT as f64)
}
