use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::{Change, Observer, Refused, Sample, Steer, text};
use tracing::{debug, trace, warn};

use crate::refusals::Refusals;
use crate::retried;
use crate::tally::Tally;

/// Tells [`tracing`] what happens in a stack: see the [crate](crate) for what, and how loud.
///
/// One for each stack, of which all layers and keys have clones: they share its name and its summaries of
/// refusals. The first refusal after a quiet time is told at once, those that follow are counted and told
/// in one line each [interval](Self::every). No task does that: it is done by whatever happens next in
/// the stack, and for the last ones when the last clone goes, with the stack.
///
/// ```
/// use tidegate_gate::GateLayer;
/// use tidegate_keyed::KeyedLayer;
/// use tidegate_tracing::Events;
///
/// let events = Events::new("crawl");
/// let polite = KeyedLayer::per_host(move |host| {
///     let gate = GateLayer::new(2).max_queue(10);
///     events.key(host).attach(&gate.handle());
///     gate
/// });
/// # drop(polite);
/// ```
#[derive(Clone)]
pub struct Events {
    stack: Arc<Stack>,
    key: Option<Arc<str>>,
}

/// What the clones share.
struct Stack {
    name: String,
    refusals: Mutex<Refusals>,
    /// Whether it has refusals that no line has told of.
    has_untold: AtomicBool,
}

/// Between two lines about refusals.
const INTERVAL: Duration = Duration::from_secs(10);

/// So that there are never two lines in a second.
const SHORTEST: Duration = Duration::from_secs(1);

/// A reason of a law's own is not longer than this.
const REASON: usize = 200;

impl Events {
    /// Of a stack of this name, such as that of the service it calls.
    pub fn new(stack: &str) -> Self {
        let stack = Stack {
            name: text::name(stack),
            refusals: Mutex::new(Refusals::new(INTERVAL)),
            has_untold: AtomicBool::new(false),
        };
        Self {
            stack: Arc::new(stack),
            key: None,
        }
    }

    /// How long it is at least from one line about refusals to the next; less than a second is taken as
    /// that. Default 10 s.
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        let refusals = self.stack.refusals.lock();
        refusals.unwrap_or_else(PoisonError::into_inner).interval = interval.max(SHORTEST);
        self
    }

    /// The same for one key of the stack, which its events then name.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self {
            stack: Arc::clone(&self.stack),
            key: Some(Arc::from(text::name(key))),
        }
    }

    /// Tells what happens at the layer of this handle, from now on. Once for each layer: twice is told
    /// twice.
    pub fn attach(&self, handle: &(impl Steer + ?Sized)) {
        handle.observe(self.observer());
    }

    /// For a layer that has no handle, such as a retry.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::new(self.clone())
    }

    fn stack(&self) -> &str {
        &self.stack.name
    }

    fn key_name(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl Observer for Events {
    fn on_sample(&self, now: Instant, sample: &Sample) {
        if !sample.outcome.is_success() {
            trace!(
                target: "tidegate",
                stack = self.stack(),
                key = self.key_name(),
                outcome = sample.outcome.name(),
                latency_ms = sample.latency.map(millis),
                in_flight = sample.in_flight,
                "no success"
            );
        }
        self.stack.tell_due(now);
    }

    fn on_change(&self, now: Instant, change: &Change) {
        let (from, to) = (&change.from, &change.to);
        let limits = from.limit.to_bits() != to.limit.to_bits();
        let paces = from.pace != to.pace;
        let left = |until: Option<Instant>| {
            until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
        };
        let pause = left(to.pause_until);
        let pauses = from.pause_until != to.pause_until && pause != left(from.pause_until);
        // Not of the request that happens to come by: see `Stack::tell` too.
        debug!(
            target: "tidegate",
            parent: None,
            stack = self.stack(),
            key = self.key_name(),
            limit_before = limits.then(|| rounded(from.limit)),
            limit = limits.then(|| rounded(to.limit)),
            per_second_before = from.pace.filter(|_| paces).map(|pace| pace.rate()),
            per_second = to.pace.filter(|_| paces).map(|pace| pace.rate()),
            pause_ms = pauses.then(|| millis(pause)),
            reason = text::tame(&change.reason.to_string(), REASON),
            "moved"
        );
        self.stack.tell_due(now);
    }

    fn on_wait(&self, now: Instant, waited: Duration) {
        trace!(
            target: "tidegate",
            stack = self.stack(),
            key = self.key_name(),
            wait_ms = millis(waited),
            "waited"
        );
        self.stack.tell_due(now);
    }

    fn on_refused(&self, now: Instant, refused: &Refused, waited: Duration) {
        let named = self.key.clone();
        let key = named.or_else(|| refused.key.as_deref().map(|key| text::name(key).into()));
        trace!(
            target: "tidegate",
            stack = self.stack(),
            key = key.as_deref(),
            by = refused.by,
            reason = refused.reason.to_string(),
            wait_ms = millis(waited),
            retry_after_ms = refused.retry_after.map(millis),
            "refused, nothing was sent"
        );
        self.stack.refused(now, refused, waited, key.as_ref());
    }

    fn on_retry(&self, now: Instant, attempt: u32, after: Duration) {
        retried::note_resend(attempt);
        debug!(
            target: "tidegate",
            stack = self.stack(),
            key = self.key_name(),
            attempt,
            after_ms = millis(after),
            "tries again"
        );
        self.stack.tell_due(now);
    }

    fn on_gave_up(&self, now: Instant, why: &'static str, sent: u32) {
        retried::note_gave_up(why);
        debug!(
            target: "tidegate",
            stack = self.stack(),
            key = self.key_name(),
            sent,
            reason = why,
            "gave up"
        );
        self.stack.tell_due(now);
    }
}

impl Stack {
    fn refused(&self, now: Instant, refused: &Refused, waited: Duration, key: Option<&Arc<str>>) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        let due = refusals.add(now, refused, waited, key);
        self.has_untold.store(due.is_none(), Relaxed);
        drop(refusals);
        due.iter().for_each(|due| self.tell(due));
    }

    /// Whatever else happens, a line about refusals comes in its time.
    fn tell_due(&self, now: Instant) {
        if !self.has_untold.load(Relaxed) {
            return;
        }
        // Somebody who has it may tell as well.
        let Ok(mut refusals) = self.refusals.try_lock() else {
            return;
        };
        let Some(due) = refusals.due(now) else { return };
        self.has_untold.store(false, Relaxed);
        drop(refusals);
        self.tell(&due);
    }

    /// Outside of the lock: who listens may come back.
    fn tell(&self, tally: &Tally) {
        warn!(
            target: "tidegate",
            parent: None,
            stack = self.name,
            refused = tally.refused,
            by = tally.by(),
            queue_full = tally.because("queue_full"),
            wait_too_long = tally.because("wait_too_long"),
            waited_too_long = tally.because("waited_too_long"),
            paused = tally.because("paused"),
            no_room = tally.because("no_room"),
            closed = tally.because("closed"),
            longest_wait_ms = millis(tally.longest_wait),
            most_refused = tally.most_refused(),
            "requests were refused, nothing was sent"
        );
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let refusals = self
            .refusals
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let untold = std::mem::take(&mut refusals.untold);
        if !untold.is_empty() {
            self.tell(&untold);
        }
    }
}

/// To two decimals: a law's limit has as many as a float has.
fn rounded(limit: f64) -> f64 {
    (100.0 * limit).round() / 100.0
}

fn millis(duration: Duration) -> f64 {
    1_000.0 * duration.as_secs_f64()
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("stack", &self.stack.name)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
