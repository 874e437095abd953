use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use metrics::{Histogram, Label};
use tidegate_core::{Change, Observer, Refused, Sample, Snapshot, WeakSteer, saturating_nanos};

use crate::gauges::Gauges;
use crate::kind::Kind;
use crate::outcomes::{Counters, Outcomes};
use crate::refusals::Refusals;
use crate::register;
use crate::watched::Watched;

/// What is heard of the doors of one label set, and how they stand.
///
/// Refusals and waits are the recorder's at once. Outcomes and gauges are when an event finds that they
/// were not for [`EVERY`], and whenever somebody asks for it.
pub(crate) struct Series {
    kind: Kind,
    labels: Vec<Label>,
    refusals: Refusals,
    wait: Histogram,
    outcomes: Outcomes,
    /// When it was first heard of.
    origin: OnceLock<Instant>,
    /// When it is published again, in nanoseconds since `origin`.
    due: AtomicU64,
    watched: Watched,
    published: Mutex<Published>,
}

/// What only one thread publishes at a time.
#[derive(Debug, Default)]
struct Published {
    counters: Option<Counters>,
    gauges: Option<Gauges>,
    /// How the doors stood at the last look that is known, and which look that was.
    standing: Vec<Snapshot>,
    look: u64,
}

/// How old a gauge is at most while something is heard.
const EVERY: Duration = Duration::from_millis(100);

/// Each look goes over all that are watched: of more than these not every one that comes is worth one.
const FEW: usize = 64;

impl Series {
    pub(crate) fn new(kind: Kind, labels: Vec<Label>) -> Self {
        let names = kind.names();
        Self {
            refusals: Refusals::new(names.refused, &labels),
            wait: register::histogram(names.wait, &labels),
            outcomes: Outcomes::default(),
            origin: OnceLock::new(),
            due: AtomicU64::new(0),
            watched: Watched::default(),
            published: Mutex::default(),
            kind,
            labels,
        }
    }

    /// A law tells outcomes here.
    pub(crate) fn learns(&self) {
        let new = || Counters::new(self.kind.names().outcomes, &self.labels);
        self.published().counters.get_or_insert_with(new);
    }

    /// Shows how that stands, too: what has the same labels is one sum. At once, but for the most of many.
    pub(crate) fn watch(&self, steer: WeakSteer) {
        let watched = self.watched.add(steer);
        if watched <= FEW || watched.is_power_of_two() {
            self.refresh();
        }
    }

    /// The recorder has all of it when this returns.
    pub(crate) fn refresh(&self) {
        // Without a lock: to look at a law may move it, and who hears of that may come back.
        let (look, standing) = self.watched.look();
        let mut published = self.published();
        if look > published.look {
            (published.look, published.standing) = (look, standing);
        }
        let Published {
            counters,
            gauges,
            standing,
            ..
        } = &mut *published;
        let taken = counters.as_ref().map(|counters| {
            let taken = self.outcomes.take();
            counters.add(&taken);
            taken
        });
        if standing.is_empty() && gauges.is_none() {
            return;
        }
        let gauges = gauges.get_or_insert_with(|| Gauges::new(self.kind, &self.labels));
        gauges.set(&self.labels, standing, &taken.unwrap_or_default());
    }

    #[inline]
    fn hear(&self, now: Instant) {
        let origin = *self.origin.get_or_init(|| now);
        let at = saturating_nanos(now.saturating_duration_since(origin));
        let due = self.due.load(Relaxed);
        if at >= due {
            self.come_due(at, due);
        }
    }

    #[cold]
    fn come_due(&self, at: u64, due: u64) {
        let next = at.saturating_add(saturating_nanos(EVERY));
        let won = self.due.compare_exchange(due, next, Acquire, Relaxed);
        if won.is_ok() {
            self.refresh();
        }
    }

    fn published(&self) -> MutexGuard<'_, Published> {
        self.published
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Series {
    #[inline]
    fn on_sample(&self, now: Instant, sample: &Sample) {
        self.outcomes.add(sample.outcome);
        self.hear(now);
    }

    fn on_change(&self, now: Instant, _change: &Change) {
        self.hear(now);
    }

    fn on_wait(&self, now: Instant, waited: Duration) {
        self.wait.record(waited);
        self.hear(now);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, _waited: Duration) {
        self.refusals.add(&refused.reason);
        self.hear(now);
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series")
            .field("kind", &self.kind)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}
