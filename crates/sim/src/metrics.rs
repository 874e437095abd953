use serde::Serialize;

use crate::oracle::Oracle;
use crate::record::Record;
use crate::scenario::Scenario;
use crate::segments::Segments;
use crate::series::Point;

/// Latency up to so many times the oracle's costs nothing.
const FREE_LATENCY: f64 = 1.5;

/// How good a run was, beside what a clairvoyant could have done.
///
/// ```text
/// score = min(goodput, 1) · (1 − waste) · min(1, 1.5 / latency)^¼ · jain
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Successes per second over the whole run, in parts of the oracle's; 1 where nothing can succeed.
    pub goodput: f64,
    /// Overloads among successes and overloads, without those that have nothing to do with load.
    pub waste: f64,
    /// Mean latency, in times the oracle's; in an open load since a request came up.
    pub latency: f64,
    /// Fairness among the clients in the last third: Jain's index, `1 / clients ..= 1`.
    pub jain: f64,
    /// Deviation over mean of the summed limit in the last third.
    pub cv: f64,
    /// Seconds until 90 % of the oracle's goodput is reached first; `None` if never.
    pub ramp: Option<f64>,
    /// The same after the slowest step; `None` without a step, or if never.
    pub recover: Option<f64>,
    /// After each step; `None` for never, and for an outage.
    pub recoveries: Vec<Option<f64>>,
    /// All of it in one number, `0.0..=1.0`.
    pub score: f64,
}

impl Metrics {
    /// Of one run.
    pub fn new(scenario: &Scenario, record: &Record, oracle: &Oracle) -> Self {
        let goodput = match oracle.goodput {
            0.0 => 1.0,
            best => record.goodput() / best,
        };
        let waste = (record.waste() - scenario.noise()).max(0.0);
        let latency = record.latency() / oracle.latency;
        let last_third = record.series.points.len() * 2 / 3;
        let mut shares = record.series.shares_since(last_third);
        let mut joined = scenario.clients.iter();
        shares.retain(|_| joined.next().is_some_and(|&at| at < record.elapsed));
        let jain = jain(&shares);
        let calm = (FREE_LATENCY / latency).min(1.0).powf(0.25);
        let segments = Segments::of(scenario);
        let reached = |index: usize| {
            let target = *oracle.segments.get(index)?;
            (target > 0.0).then_some(())?;
            segments.reached(index, &record.series, target)
        };
        let mut capacity = 1.0;
        let steps = scenario.steps.iter().filter_map(|step| {
            capacity = step.capacity.unwrap_or(capacity);
            let index = segments.starts.iter().position(|&at| at == step.at)?;
            Some((capacity > 0.0, reached(index)))
        });
        let steps: Vec<(bool, Option<f64>)> = steps.collect();
        Self {
            goodput,
            waste,
            latency,
            jain,
            cv: cv(&record.series.points[last_third..]),
            ramp: reached(0),
            recover: slowest(&steps),
            recoveries: steps.into_iter().map(|(_, reached)| reached).collect(),
            score: goodput.min(1.0) * (1.0 - waste) * calm * jain,
        }
    }
}

/// The longest of those that count; `None` if one of them was never reached.
fn slowest(steps: &[(bool, Option<f64>)]) -> Option<f64> {
    let counted = steps.iter().filter(|(counts, _)| *counts);
    let times: Option<Vec<f64>> = counted.map(|&(_, reached)| reached).collect();
    times?.into_iter().reduce(f64::max)
}

/// Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness" (DEC TR-301, 1984).
fn jain(shares: &[u32]) -> f64 {
    let sum: f64 = shares.iter().map(|&x| f64::from(x)).sum();
    let squares: f64 = shares.iter().map(|&x| f64::from(x).powi(2)).sum();
    if squares == 0.0 {
        return 1.0;
    }
    sum * sum / (shares.len() as f64 * squares)
}

fn cv(points: &[Point]) -> f64 {
    let count = points.len().max(1) as f64;
    let mean = points.iter().map(|p| p.limit as f64).sum::<f64>() / count;
    let square = |p: &Point| (p.limit as f64 - mean).powi(2);
    let variance = points.iter().map(square).sum::<f64>() / count;
    if mean == 0.0 {
        return 0.0;
    }
    variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_one_of_four_is_a_quarter() {
        assert!((jain(&[5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9, 0, 0, 0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_step_that_was_never_recovered_from_is_none() {
        assert_eq!(slowest(&[(true, Some(1.0)), (true, Some(3.0))]), Some(3.0));
        assert_eq!(slowest(&[(true, Some(1.0)), (true, None)]), None);
        assert_eq!(slowest(&[(false, None), (true, Some(2.0))]), Some(2.0));
        assert_eq!(slowest(&[]), None);
    }
}
