use std::sync::{Arc, Mutex};
use std::time::Instant;

use tidegate::{Change, Controller, Outcome, Sample, Setting};

/// A law that writes down what it hears, and asks for what the law within asks for.
#[derive(Clone, Debug)]
pub(crate) struct Recording<L> {
    law: L,
    heard: Arc<Mutex<Heard>>,
}

/// What a law was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) starts: u64,
    pub(crate) samples: Vec<Sample>,
    /// How often the law within changed something.
    pub(crate) changes: u64,
    /// How often somebody else moved the limit.
    pub(crate) moves: u64,
}

impl<L> Recording<L> {
    pub(crate) fn new(law: L) -> Self {
        Self {
            law,
            heard: Arc::default(),
        }
    }

    pub(crate) fn heard(&self) -> Heard {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        let heard = self.heard.lock().unwrap();
        heard.samples.iter().map(|sample| sample.outcome).collect()
    }
}

impl<L: Controller> Controller for Recording<L> {
    fn on_start(&mut self, now: Instant, in_flight: usize) {
        self.heard.lock().unwrap().starts += 1;
        self.law.on_start(now, in_flight);
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        let change = self.law.on_sample(now, sample);
        let mut heard = self.heard.lock().unwrap();
        heard.samples.push(*sample);
        heard.changes += u64::from(change.is_some());
        change
    }

    fn setting(&self) -> Setting {
        self.law.setting()
    }

    fn move_to(&mut self, now: Instant, limit: f64) {
        self.heard.lock().unwrap().moves += 1;
        self.law.move_to(now, limit);
    }
}
