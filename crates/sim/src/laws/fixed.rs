use std::time::Instant;

use tidegate_core::{Change, Controller, Sample, Setting};

/// No law at all: a limit that stays.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    limit: f64,
}

impl Fixed {
    /// So many in flight.
    pub fn new(limit: u32) -> Self {
        Self {
            limit: f64::from(limit),
        }
    }
}

impl Controller for Fixed {
    fn on_sample(&mut self, _now: Instant, _sample: &Sample) -> Option<Change> {
        None
    }

    fn setting(&self) -> Setting {
        Setting::limit(self.limit)
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.limit = limit;
    }
}
