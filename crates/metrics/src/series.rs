use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use metrics::{Histogram, Label};
use tidegate_core::{Change, Observer, Refused, Sample, WeakSteer};

use crate::gauges::Gauges;
use crate::kind::Kind;
use crate::outcomes::{Counters, Outcomes};
use crate::refusals::Refusals;
use crate::register;

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
    /// The limit that a law last asked for, as bits, which is not the door's where nobody follows it.
    asked: AtomicU64,
    /// When it was first heard of.
    origin: OnceLock<Instant>,
    /// When it is published again, in nanoseconds since `origin`.
    due: AtomicU64,
    published: Mutex<Published>,
}

/// What only one thread publishes at a time.
#[derive(Debug, Default)]
struct Published {
    watched: Vec<WeakSteer>,
    counters: Option<Counters>,
    gauges: Option<Gauges>,
}

/// How old a gauge is at most while something is heard.
const EVERY: Duration = Duration::from_millis(100);

impl Series {
    pub(crate) fn new(kind: Kind, labels: Vec<Label>) -> Self {
        let names = kind.names();
        Self {
            refusals: Refusals::new(names.refused, &labels),
            wait: register::histogram(names.wait, &labels),
            outcomes: Outcomes::default(),
            asked: AtomicU64::new(f64::NAN.to_bits()),
            origin: OnceLock::new(),
            due: AtomicU64::new(0),
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

    /// Shows how that stands, too: what has the same labels is one sum.
    pub(crate) fn watch(&self, steer: WeakSteer) {
        let mut published = self.published();
        published
            .watched
            .retain(|watched| watched.snapshot().is_some());
        published.watched.push(steer);
        self.publish(published);
    }

    /// The recorder has all of it when this returns.
    pub(crate) fn refresh(&self) {
        self.publish(self.published());
    }

    fn publish(&self, mut published: MutexGuard<'_, Published>) {
        let taken = self.outcomes.take();
        let Published {
            watched,
            counters,
            gauges,
        } = &mut *published;
        counters.iter().for_each(|counters| counters.add(&taken));
        if watched.is_empty() && gauges.is_none() {
            return;
        }
        let mut standing = Vec::with_capacity(watched.len());
        watched.retain(|watched| {
            let snapshot = watched.snapshot();
            standing.extend(snapshot);
            snapshot.is_some()
        });
        let gauges = gauges.get_or_insert_with(|| Gauges::new(self.kind, &self.labels));
        let asked = f64::from_bits(self.asked.load(Relaxed));
        gauges.set(&self.labels, &standing, &taken, asked);
    }

    #[inline]
    fn hear(&self, now: Instant) {
        let origin = *self.origin.get_or_init(|| now);
        let at = nanos(now.saturating_duration_since(origin));
        let due = self.due.load(Relaxed);
        if at >= due {
            self.come_due(at, due);
        }
    }

    #[cold]
    fn come_due(&self, at: u64, due: u64) {
        let next = at.saturating_add(nanos(EVERY));
        let won = self.due.compare_exchange(due, next, Acquire, Relaxed);
        if won.is_err() {
            return;
        }
        match self.published.try_lock() {
            Ok(published) => self.publish(published),
            Err(TryLockError::Poisoned(poisoned)) => self.publish(poisoned.into_inner()),
            // Somebody is at it: perhaps this thread, since to look at a law may move it.
            Err(TryLockError::WouldBlock) => {}
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

    fn on_change(&self, now: Instant, change: &Change) {
        self.asked.store(change.to.limit.to_bits(), Release);
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

/// In 64 bits, which are 584 years.
fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(u64::from(duration.subsec_nanos()))
}
