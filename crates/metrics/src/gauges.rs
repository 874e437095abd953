use std::ops::Add;
use std::time::{Duration, Instant};

use metrics::{Gauge, Label};
use tidegate_core::{FurtherPaces, Snapshot};

use crate::clock::now;
use crate::kind::Kind;
use crate::names::{FAILURE_SHARE, IN_FLIGHT, LIMIT, NUMBERS, PACE_NUMBER, SETPOINT};
use crate::outcomes::Taken;
use crate::register;

/// How the doors of one label set stand.
#[derive(Debug)]
pub(crate) struct Gauges {
    kind: Kind,
    waiting: Gauge,
    pause: Gauge,
    /// Of a gate: how many may be in flight, and how many are.
    places: Option<[Gauge; 2]>,
    /// By its number, each once there was one.
    paces: [Option<Gauge>; PACES],
    /// Once there was one, with the share of failures beside it.
    setpoint: Option<[Gauge; 2]>,
    share: Share,
}

/// How many a door may have.
const PACES: usize = 1 + FurtherPaces::MOST;

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
            pause: register::gauge(kind.names().pause, labels),
            places: (kind == Kind::Gate).then(places),
            paces: [const { None }; PACES],
            setpoint: None,
            share: Share(None),
        }
    }

    /// What `standing` are together, with the answers since the last time.
    pub(crate) fn set(&mut self, labels: &[Label], standing: &[Snapshot], taken: &Taken) {
        let sum = |of: fn(&Snapshot) -> usize| standing.iter().map(of).sum::<usize>() as f64;
        self.waiting.set(sum(|snapshot| snapshot.waiting));
        self.pause.set(left(standing).as_secs_f64());
        if let Some([limit, in_flight]) = &self.places {
            let limits = standing.iter().map(|snapshot| {
                let door = snapshot.limit as f64;
                snapshot.asked.unwrap_or(door)
            });
            limit.set(limits.fold(0.0, f64::add));
            in_flight.set(sum(|snapshot| snapshot.in_flight));
        }
        self.set_paces(labels, standing);
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

impl Gauges {
    fn set_paces(&mut self, labels: &[Label], standing: &[Snapshot]) {
        let mut rates = [0.0; PACES];
        for (number, pace) in standing.iter().flat_map(Snapshot::paces) {
            rates[number] += pace.rate();
        }
        let all = self.paces.iter_mut().zip(rates).zip(NUMBERS);
        for ((gauge, rate), number) in
            all.filter(|((gauge, rate), _)| *rate > 0.0 || gauge.is_some())
        {
            let new = || {
                let number = Label::from_static_parts(PACE_NUMBER, number);
                let labels: Vec<Label> = labels.iter().cloned().chain([number]).collect();
                register::gauge(self.kind.names().pace, &labels)
            };
            gauge.get_or_insert_with(new).set(rate);
        }
    }
}

/// How long the pause that ends last goes on.
fn left(standing: &[Snapshot]) -> Duration {
    let last = standing.iter().filter_map(|it| it.pause_until).max();
    let left = |until: Instant| until.saturating_duration_since(now());
    last.map_or(Duration::ZERO, left)
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
