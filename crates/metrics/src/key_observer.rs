use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::{Change, Observer, Refused, Sample, Snapshot, WeakSteer};

use crate::kind::Kind;
use crate::series::Series;
use crate::stack::Stack;

/// What is heard of the door of one key: it counts into `other` until the key has a label.
///
/// The door holds it, so that it goes with its key.
#[derive(Debug)]
pub(crate) struct KeyObserver {
    stack: Arc<Stack>,
    kind: Kind,
    learns: bool,
    key: Arc<str>,
    hash: u64,
    other: Arc<Series>,
    own: OnceLock<Arc<Series>>,
    /// Until it has a label.
    steer: Mutex<Option<WeakSteer>>,
}

impl KeyObserver {
    pub(crate) fn new(
        stack: &Arc<Stack>,
        key: Arc<str>,
        snapshot: &Snapshot,
        steer: WeakSteer,
    ) -> Self {
        let (kind, learns) = (Kind::of(snapshot), snapshot.learns);
        let other = stack.other(kind);
        if learns {
            other.learns();
        }
        let observer = Self {
            stack: Arc::clone(stack),
            kind,
            learns,
            hash: stack.hash(&key),
            key,
            other: Arc::clone(other),
            own: OnceLock::new(),
            steer: Mutex::new(Some(steer)),
        };
        observer.meet(true);
        observer
    }

    /// Where the next event counts.
    #[inline]
    fn series(&self) -> &Series {
        match self.own.get() {
            Some(own) => own,
            None => self.meet(false),
        }
    }

    fn meet(&self, is_new: bool) -> &Series {
        let Some(own) = self.stack.key(self.kind, &self.key, self.hash, is_new) else {
            return &self.other;
        };
        if self.learns {
            own.learns();
        }
        if let Some(steer) = self.take_steer() {
            own.watch(steer);
        }
        self.own.get_or_init(|| Arc::clone(own))
    }

    fn take_steer(&self) -> Option<WeakSteer> {
        let mut steer = self.steer.lock().unwrap_or_else(PoisonError::into_inner);
        steer.take()
    }
}

impl Observer for KeyObserver {
    #[inline]
    fn on_sample(&self, now: Instant, sample: &Sample) {
        self.series().on_sample(now, sample);
    }

    fn on_change(&self, now: Instant, change: &Change) {
        self.series().on_change(now, change);
    }

    fn on_wait(&self, now: Instant, waited: Duration) {
        self.series().on_wait(now, waited);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        self.series().on_refused(now, refused, waited);
    }
}
