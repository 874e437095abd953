use std::sync::Arc;
use std::time::Duration;

use tidegate_core::{Refused, RefusedReason};

use crate::heaviest::Heaviest;

/// What was refused: how many, by whom, why, and whose.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) refused: u64,
    /// Which layers, as far as they are few.
    by: Vec<&'static str>,
    pub(crate) queue_full: u64,
    pub(crate) wait_too_long: u64,
    pub(crate) waited_too_long: u64,
    pub(crate) paused: u64,
    pub(crate) no_room: u64,
    pub(crate) closed: u64,
    pub(crate) longest_wait: Duration,
    pub(crate) keys: Heaviest,
}

/// So many layers are named.
const LAYERS: usize = 8;

impl Tally {
    pub(crate) fn add(&mut self, refused: &Refused, waited: Duration, key: Option<&Arc<str>>) {
        self.refused += 1;
        if self.by.len() < LAYERS && !self.by.contains(&refused.by) {
            self.by.push(refused.by);
        }
        match refused.reason {
            RefusedReason::QueueFull { .. } => self.queue_full += 1,
            RefusedReason::WaitTooLong { .. } => self.wait_too_long += 1,
            RefusedReason::WaitedTooLong { .. } => self.waited_too_long += 1,
            RefusedReason::Paused { .. } => self.paused += 1,
            RefusedReason::NoRoom => self.no_room += 1,
            RefusedReason::Closed => self.closed += 1,
            _ => {}
        }
        self.longest_wait = self.longest_wait.max(waited);
        key.into_iter().for_each(|key| self.keys.add(key));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.refused == 0
    }

    /// `gate, rate`.
    pub(crate) fn by(&self) -> String {
        self.by.join(", ")
    }
}
