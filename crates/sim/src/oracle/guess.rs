use std::time::Duration;

use crate::engine::MAX_LIMIT;
use crate::scenario::{Scenario, ServerKind};

/// About how many requests in flight a scenario can use, at a capacity and a round trip.
///
/// ```text
/// l = m + rtt + jitter                     m: mean service
/// rate-limited  R · l
/// fifo, ps      c · l / m
/// usl           n* + X(n*) · (l − m)       n* = √((1 − α) / β), at most 32 (1 − α) / α
/// ```
pub(super) fn guess(scenario: &Scenario, capacity: f64, rtt: Duration) -> f64 {
    let way = rtt.as_secs_f64() + scenario.mean_jitter();
    let mean = scenario.server.service.mean().max(1e-9);
    let guess = match scenario.server.kind {
        ServerKind::Fifo { workers, .. } => f64::from(workers) * capacity * (mean + way) / mean,
        ServerKind::Ps { capacity: full } => full * capacity * (mean + way) / mean,
        ServerKind::Usl { alpha, beta } => {
            let best = usl_best(alpha, beta);
            let slowdown = 1.0 + (best - 1.0) * (alpha + beta * best);
            best + capacity * best / (mean * slowdown) * way
        }
        ServerKind::Bucket { .. } | ServerKind::Window { .. } => {
            scenario.rate().unwrap_or(0.0) * capacity * (mean + way)
        }
    };
    guess.min(MAX_LIMIT as f64)
}

/// Where throughput is best; where it only levels off, with `β` at or near 0, where 97 % of it is
/// reached.
fn usl_best(alpha: f64, beta: f64) -> f64 {
    let room = (1.0 - alpha).max(0.0);
    if room == 0.0 {
        return 1.0;
    }
    let best = (room / beta).sqrt().min(32.0 * room / alpha);
    best.clamp(1.0, MAX_LIMIT as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usl_server_is_best_where_its_throughput_turns() {
        assert!((usl_best(0.02, 0.0005) - 44.27).abs() < 0.01);
        assert!((usl_best(0.5, 0.0) - 32.0).abs() < 1e-9);
        assert!((usl_best(2.0, 0.0) - 1.0).abs() < 1e-9);
        assert!((usl_best(0.0, 0.0) - MAX_LIMIT as f64).abs() < 1e-9);
    }
}
