use std::ops::Add;

use metrics::{Gauge, Label};
use tidegate_core::Snapshot;

use crate::kind::Kind;
use crate::names::{FAILURE_SHARE, IN_FLIGHT, LIMIT, SETPOINT};
use crate::outcomes::Taken;
use crate::register;

/// How the doors of one label set stand.
#[derive(Debug)]
pub(crate) struct Gauges {
    kind: Kind,
    waiting: Gauge,
    /// Of a gate: how many may be in flight, and how many are.
    places: Option<[Gauge; 2]>,
    /// Once there was one.
    pace: Option<Gauge>,
    /// Once there was one, with the share of failures beside it.
    setpoint: Option<[Gauge; 2]>,
    share: Share,
}

/// The share of failures among the last answers.
#[derive(Clone, Copy, Debug)]
struct Share(Option<f64>);

/// An answer that so many came after weighs `1/e` of the last one.
const MEMORY: f64 = 200.0;

impl Gauges {
    pub(crate) fn new(kind: Kind, labels: &[Label]) -> Self {
        let places = || [LIMIT, IN_FLIGHT].map(|name| register::gauge(name, labels));
        Self {
            kind,
            waiting: register::gauge(kind.names().waiting, labels),
            places: (kind == Kind::Gate).then(places),
            pace: None,
            setpoint: None,
            share: Share(None),
        }
    }

    /// What `standing` are together, with the answers since the last time.
    pub(crate) fn set(&mut self, labels: &[Label], standing: &[Snapshot], taken: &Taken) {
        let sum = |of: fn(&Snapshot) -> usize| standing.iter().map(of).sum::<usize>() as f64;
        self.waiting.set(sum(|snapshot| snapshot.waiting));
        if let Some([limit, in_flight]) = &self.places {
            let limits = standing.iter().map(|snapshot| {
                let door = snapshot.limit as f64;
                snapshot.asked.unwrap_or(door)
            });
            limit.set(limits.fold(0.0, f64::add));
            in_flight.set(sum(|snapshot| snapshot.in_flight));
        }
        let paces = standing.iter().filter_map(|snapshot| snapshot.pace);
        let pace = paces.map(|pace| pace.rate()).fold(0.0, f64::add);
        if pace > 0.0 || self.pace.is_some() {
            let new = || register::gauge(self.kind.names().pace, labels);
            self.pace.get_or_insert_with(new).set(pace);
        }
        self.share.add(taken.failed_of());
        let setpoint = standing.iter().find_map(|snapshot| snapshot.setpoint);
        if setpoint.is_some() || self.setpoint.is_some() {
            let new = || [SETPOINT, FAILURE_SHARE].map(|name| register::gauge(name, labels));
            let [aim, share] = self.setpoint.get_or_insert_with(new);
            aim.set(setpoint.unwrap_or(0.0));
            let known = setpoint.and(self.share.0);
            share.set(known.unwrap_or(0.0));
        }
    }
}

impl Share {
    fn add(&mut self, (failed, answered): (u64, u64)) {
        if answered == 0 {
            return;
        }
        let new = failed as f64 / answered as f64;
        let known = self.0.unwrap_or(new);
        let kept = (-(answered as f64) / MEMORY).exp();
        self.0 = Some(kept * known + (1.0 - kept) * new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_failures_follows_the_last_two_hundred_answers() {
        let mut share = Share(None);
        share.add((0, 0));
        assert_eq!(share.0, None);
        share.add((1, 4));
        assert_eq!(share.0, Some(0.25));
        share.add((0, 200));
        assert!((share.0.unwrap() - 0.25 / std::f64::consts::E).abs() < 1e-12);
        share.add((1_000_000, 1_000_000));
        assert_eq!(share.0, Some(1.0));
    }
}
