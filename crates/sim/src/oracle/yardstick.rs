use serde::{Deserialize, Serialize};

use crate::engine::{Pilot, fly};
use crate::oracle::sweep::{Point, points};
use crate::parallel::parallel;
use crate::record::Record;
use crate::scenario::Scenario;
use crate::segments::Segments;

/// How much of the best goodput a point needs for its latency to count.
const ENOUGH: f64 = 0.97;

/// The best that a fixed setting could do on one scenario with one seed.
///
/// It is clairvoyant: each setting is scaled by every step the moment it happens, and divided by the
/// clients that are there.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Oracle {
    /// The best goodput, in requests per second, among settings that waste little.
    pub goodput: f64,
    /// The lowest mean latency, in seconds, among those with nearly that goodput.
    pub latency: f64,
    /// Goodput of the best setting in each segment of the run.
    pub segments: Vec<f64>,
    /// The setting with the best goodput.
    pub best: String,
    /// The setting with the lowest latency.
    pub calm: String,
}

impl Oracle {
    /// Tries every fixed setting, on so many threads. The answer does not depend on how many.
    pub fn sweep(scenario: &Scenario, seed: u64, threads: usize) -> Self {
        let points = points(scenario);
        let records = parallel(threads, &points, |point| {
            fly(scenario, seed, &Pilot::Plan(&|now| point.setting(now)))
        });
        Self::choose(scenario, &points, &records)
    }

    fn choose(scenario: &Scenario, points: &[Point<'_>], records: &[Record]) -> Self {
        let least = records.iter().map(Record::waste).fold(1.0, f64::min);
        let allowed = (1.1 * scenario.noise() + 0.02).max(1.2 * least + 0.002);
        let frugal = || {
            let all = points.iter().zip(records);
            all.filter(move |(_, record)| record.waste() <= allowed)
        };
        let (best, record) = frugal()
            .max_by(|a, b| a.1.goodput().total_cmp(&b.1.goodput()))
            .expect("the point with the least waste is allowed");
        let goodput = record.goodput();
        let (calm, calmest) = frugal()
            .filter(|(_, record)| record.goodput() >= ENOUGH * goodput)
            .min_by(|a, b| a.1.latency().total_cmp(&b.1.latency()))
            .unwrap_or((best, record));
        Self {
            goodput,
            latency: calmest.latency(),
            segments: Segments::of(scenario).goodput(&record.series),
            best: best.to_string(),
            calm: calm.to_string(),
        }
    }
}
