//! What several of the tests need.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::{Pace, Snapshot, Steer};

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// How many there are, and the most there were at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<(AtomicUsize, AtomicUsize)>);

impl Gauge {
    pub(crate) fn enter(&self) -> Inside {
        let now = self.0.0.fetch_add(1, SeqCst) + 1;
        self.0.1.fetch_max(now, SeqCst);
        Inside(self.clone())
    }

    pub(crate) fn now(&self) -> usize {
        self.0.0.load(SeqCst)
    }

    pub(crate) fn peak(&self) -> usize {
        self.0.1.load(SeqCst)
    }
}

/// Counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Inside(Gauge);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, SeqCst);
    }
}

/// What a limit is not moved to otherwise.
const CLOSED: usize = usize::MAX - 1;

/// A limit that is moved by hand, and nothing behind it.
#[derive(Clone, Debug)]
pub(crate) struct Limit(Arc<AtomicUsize>);

impl Limit {
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(limit)))
    }

    pub(crate) fn close(&self) {
        self.set_limit(CLOSED);
    }
}

impl Steer for Limit {
    fn snapshot(&self) -> Snapshot {
        let limit = self.0.load(SeqCst);
        let mut snapshot = Snapshot::new(limit);
        snapshot.closed = limit == CLOSED;
        snapshot
    }

    fn set_limit(&self, limit: usize) {
        self.0.store(limit, SeqCst);
    }

    fn set_pace(&self, _: Option<Pace>) {}

    fn pause_until(&self, _: Instant) {}
}

/// What was done, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<usize>>>);

impl Log {
    pub(crate) fn add(&self, index: usize) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(index);
    }

    pub(crate) fn all(&self) -> Vec<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn sorted(&self) -> Vec<usize> {
        let mut all = self.all();
        all.sort_unstable();
        all
    }
}

/// A file that is not there, of one test.
pub(crate) fn no_file(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}
