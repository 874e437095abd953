use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tidegate::{Change, Observer, Outcome, Sample, Steer};

use crate::support::now;

/// What a law heard and did, from now on.
#[derive(Debug)]
pub(crate) struct History {
    start: Instant,
    samples: Mutex<Vec<Sample>>,
    changes: Mutex<Vec<(Duration, Change)>>,
}

impl History {
    pub(crate) fn of(steer: &dyn Steer) -> Arc<Self> {
        let history = Arc::new(Self {
            start: now().into_std(),
            samples: Mutex::default(),
            changes: Mutex::default(),
        });
        steer.observe(history.clone());
        history
    }

    /// What the answers said, in the order in which that became known.
    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let samples = self.samples.lock().unwrap();
        samples.iter().map(|sample| sample.outcome).collect()
    }

    /// All changes, each with its time since the start.
    pub(crate) fn changes(&self) -> Vec<(Duration, Change)> {
        self.changes.lock().unwrap().clone()
    }

    /// Those of a span of seconds.
    fn within(&self, from: f64, to: f64) -> Vec<(f64, Change)> {
        let changes = self.changes();
        let seconds = changes
            .iter()
            .map(|(at, change)| (at.as_secs_f64(), *change));
        seconds.filter(|(at, _)| (from..to).contains(at)).collect()
    }

    /// The limit, averaged over a span of seconds in which it moved.
    pub(crate) fn limit(&self, from: f64, to: f64) -> f64 {
        let changes = self.within(from, to);
        let (mut area, mut at) = (0.0, from);
        let mut limit = changes.first().expect("it moved").1.from.limit;
        for (then, change) in changes {
            area += limit * (then - at);
            (limit, at) = (change.to.limit, then);
        }
        (area + limit * (to - at)) / (to - from)
    }

    /// Why it moved in a span of seconds, in the words that people read.
    pub(crate) fn reasons(&self, from: f64, to: f64) -> Vec<String> {
        let changes = self.within(from, to);
        changes
            .iter()
            .map(|(_, change)| change.reason.to_string())
            .collect()
    }

    /// Successes per second in a span of seconds.
    pub(crate) fn goodput(&self, from: f64, to: f64) -> f64 {
        let samples = self.samples.lock().unwrap();
        let ended = |sample: &&Sample| {
            let latency = sample.latency.unwrap_or_default();
            let at = (sample.started - self.start + latency).as_secs_f64();
            sample.outcome.is_success() && (from..to).contains(&at)
        };
        samples.iter().filter(ended).count() as f64 / (to - from)
    }

    /// Overloads among successes and overloads.
    pub(crate) fn waste(&self) -> f64 {
        let samples = self.samples.lock().unwrap();
        let count = |of: fn(&Sample) -> bool| samples.iter().filter(|sample| of(sample)).count();
        let overloads = count(|sample| sample.outcome.is_overload());
        let successes = count(|sample| sample.outcome.is_success());
        overloads as f64 / (successes + overloads) as f64
    }

    /// Each change begins where the one before ended, says why in words, and the door is where the last
    /// one ended.
    #[track_caller]
    pub(crate) fn assert_seamless(&self, steer: &dyn Steer) {
        let changes = self.changes();
        for pair in changes.windows(2) {
            let [(_, one), (at, next)] = pair else {
                unreachable!("a window of two")
            };
            assert_eq!(one.to, next.from, "at {at:?}: {}", next.reason);
        }
        for (at, change) in &changes {
            assert_ne!(change.from, change.to, "at {at:?}");
            assert!(change.reason.to_string().contains(' '), "at {at:?}");
        }
        let (_, last) = changes.last().expect("it moved");
        assert_eq!(steer.snapshot().limit, last.to.limit as usize);
    }
}

impl Observer for History {
    fn on_sample(&self, _now: Instant, sample: &Sample) {
        self.samples.lock().unwrap().push(*sample);
    }

    fn on_change(&self, now: Instant, change: &Change) {
        let at = now.saturating_duration_since(self.start);
        self.changes.lock().unwrap().push((at, *change));
    }
}
