use std::fmt;
use std::time::Duration;

use tidegate_core::{Pace, Setting};

use crate::engine::Conditions;
use crate::oracle::guess::guess;
use crate::scenario::Scenario;

/// Parts of the guess that are tried as a limit.
const FACTORS: [f64; 13] = [
    0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0,
];

/// Below this guess, every limit from 1 to [`SMALL_MOST`] is tried instead.
const SMALL: f64 = 12.0;
const SMALL_MOST: u32 = 24;

/// Parts of a server's rate that are tried as a pace.
const PACES: [f64; 8] = [0.90, 0.94, 0.96, 0.98, 0.99, 1.0, 1.01, 1.03];

const SECOND: Duration = Duration::from_secs(1);

/// In guesses: the limit under a pace.
const UNDER_PACE: f64 = 4.0;

/// A setting held throughout, but moved with each step the moment it happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<'a> {
    scenario: &'a Scenario,
    /// As it would be for one client before any step.
    limit: f64,
    per_second: Option<f64>,
}

/// All points of a scenario's sweep.
pub(super) fn points(scenario: &Scenario) -> Vec<Point<'_>> {
    let guess = guess(scenario, 1.0, scenario.rtt);
    let limits: Vec<f64> = if guess < SMALL {
        (1..=SMALL_MOST).map(f64::from).collect()
    } else {
        FACTORS.iter().map(|factor| factor * guess).collect()
    };
    let limits = limits.into_iter().map(|limit| Point {
        scenario,
        limit,
        per_second: None,
    });
    let paces = scenario.rate().into_iter().flat_map(|rate| {
        PACES.iter().map(move |part| Point {
            scenario,
            limit: UNDER_PACE * guess,
            per_second: Some(rate * part),
        })
    });
    limits.chain(paces).collect()
}

impl Point<'_> {
    /// What each client does as things stand; `None`: pause.
    pub(super) fn setting(&self, conditions: &Conditions) -> Option<Setting> {
        if conditions.capacity <= 0.0 {
            return None;
        }
        let clients = conditions.clients.max(1) as f64;
        let now = guess(self.scenario, conditions.capacity, conditions.rtt);
        let before = guess(self.scenario, 1.0, self.scenario.rtt);
        let limit = (self.limit * now / before / clients).round().max(1.0);
        let pace = self
            .per_second
            .map(|rate| rate * conditions.capacity / clients);
        Some(Setting {
            pace: pace.and_then(|rate| Pace::try_per(rate, SECOND).ok()),
            ..Setting::limit(limit)
        })
    }
}

impl fmt::Display for Point<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "limit {:.1}", self.limit)?;
        match self.per_second {
            Some(rate) => write!(f, ", {rate:.1}/s"),
            None => Ok(()),
        }
    }
}
