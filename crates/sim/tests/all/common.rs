//! What the tests share: short scenarios, and a law that remembers what it was told.
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tidegate_core::{Change, Controller, Sample, Setting};
use tidegate_sim::{Record, Scenario, Seat, laws, run};

/// A scenario from `top`, `server` and `load`, each lines of TOML, and tables that follow.
pub(crate) fn scenario(top: &str, server: &str, load: &str, rest: &str) -> Scenario {
    let text = format!("id = \"test\"\n{top}\n[server]\n{server}\n[load]\n{load}\n{rest}\n");
    match Scenario::from_toml(&text) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// A closed load.
pub(crate) fn closed(top: &str, server: &str, rest: &str) -> Scenario {
    scenario(top, server, "kind = \"closed\"", rest)
}

/// One run with a limit that stays.
pub(crate) fn fixed(scenario: &Scenario, limit: u32) -> Record {
    run(scenario, 1, &move |_| Box::new(laws::Fixed::new(limit)))
}

/// Asserts that `value` is within `share` of `expected`.
#[track_caller]
pub(crate) fn near(value: f64, expected: f64, share: f64) {
    let off = (value / expected - 1.0).abs();
    assert!(off <= share, "{value} is not within {share} of {expected}");
}

/// What a law was told, in order; times in nanoseconds since it joined.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Start {
        at: u128,
        in_flight: usize,
    },
    Sample {
        at: u128,
        started: u128,
        sample: Sample,
    },
}

/// All that the laws of a run were told.
pub(crate) type Notes = Arc<Mutex<Vec<Told>>>;

/// A limit that stays and remembers.
#[derive(Debug)]
pub(crate) struct Spy {
    setting: Setting,
    joined: Instant,
    notes: Notes,
}

impl Spy {
    pub(crate) fn new(seat: &Seat, setting: Setting, notes: &Notes) -> Self {
        Self {
            setting,
            joined: seat.now,
            notes: Arc::clone(notes),
        }
    }

    fn note(&self, told: Told) {
        self.notes.lock().unwrap().push(told);
    }

    fn since(&self, at: Instant) -> u128 {
        at.duration_since(self.joined).as_nanos()
    }
}

impl Controller for Spy {
    fn on_start(&mut self, now: Instant, in_flight: usize) {
        let at = self.since(now);
        self.note(Told::Start { at, in_flight });
    }

    fn on_sample(&mut self, now: Instant, sample: &Sample) -> Option<Change> {
        self.note(Told::Sample {
            at: self.since(now),
            started: self.since(sample.started),
            sample: *sample,
        });
        None
    }

    fn setting(&self) -> Setting {
        self.setting
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.setting.limit = limit;
    }
}

/// What a law with this setting is told on a scenario.
pub(crate) fn told(scenario: &Scenario, setting: Setting) -> Vec<Told> {
    let notes = Notes::default();
    let maker = |seat: &Seat| -> Box<dyn Controller> { Box::new(Spy::new(seat, setting, &notes)) };
    run(scenario, 1, &maker);
    notes.lock().unwrap().clone()
}

/// The samples among them, with when each was told, in milliseconds.
pub(crate) fn samples(told: &[Told]) -> Vec<(u128, Sample)> {
    let sample = |told: &Told| match told {
        Told::Sample { at, sample, .. } => Some((at / 1_000_000, *sample)),
        Told::Start { .. } => None,
    };
    told.iter().filter_map(sample).collect()
}
