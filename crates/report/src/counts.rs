use std::time::Duration;

use tidegate_core::{Cause, Outcome, RefusedReason, Sample, Setting, Snapshot};

use crate::limit::{NO_LIMIT, whole};
use crate::refusals::Refusals;

/// The numbers of a stretch of time. All of them saturate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) successes: u32,
    /// One for each `Cause`.
    overloads: [u32; 4],
    pub(crate) failures: u32,
    pub(crate) ignored: u32,
    pub(crate) peak_in_flight: u32,
    in_flight_sum: u64,
    in_flight_seen: u32,
    /// The most that were seen to wait, if anybody looked.
    pub(crate) waiting: Option<u32>,
    /// How many entered that had to wait, and how long any of them or of those refused did.
    pub(crate) waited: u32,
    pub(crate) longest_wait: Duration,
    pub(crate) refusals: Refusals,
    /// How many were tried again.
    pub(crate) retries: u32,
    /// How many calls ended with a failure that might have passed.
    pub(crate) gave_up: u32,
    /// At the end of it.
    pub(crate) state: State,
    pub(crate) least_limit: f64,
    pub(crate) greatest_limit: f64,
    /// How many changes there were.
    pub(crate) changes: u32,
    /// Whether a pause ran at some time in it.
    pub(crate) paused: bool,
}

/// What holds from a moment on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) limit: f64,
    /// Per second.
    pub(crate) pace: Option<f64>,
    /// The share of failures that a law aims at.
    pub(crate) setpoint: Option<f64>,
}

impl State {
    pub(crate) fn new(setting: &Setting, setpoint: Option<f64>) -> Self {
        Self {
            limit: setting.limit,
            pace: setting.pace.map(|pace| pace.rate()),
            setpoint,
        }
    }
}

impl Counts {
    pub(crate) fn new(state: State) -> Self {
        Self {
            successes: 0,
            overloads: [0; 4],
            failures: 0,
            ignored: 0,
            peak_in_flight: 0,
            in_flight_sum: 0,
            in_flight_seen: 0,
            waiting: None,
            waited: 0,
            longest_wait: Duration::ZERO,
            refusals: Refusals::default(),
            retries: 0,
            gave_up: 0,
            state,
            least_limit: state.limit,
            greatest_limit: state.limit,
            changes: 0,
            paused: false,
        }
    }

    pub(crate) fn sample(&mut self, sample: &Sample) {
        let count = match sample.outcome {
            Outcome::Success => &mut self.successes,
            Outcome::Overload(cause) => &mut self.overloads[cause as usize],
            Outcome::Failure => &mut self.failures,
            Outcome::Ignored => &mut self.ignored,
        };
        *count = count.saturating_add(1);
        self.in_flight(sample.in_flight);
    }

    pub(crate) fn snapshot(&mut self, snapshot: &Snapshot) {
        let nobody_is_counted = snapshot.limit == usize::MAX;
        if !nobody_is_counted {
            self.in_flight(snapshot.in_flight);
        }
        self.waiting = self.waiting.max(Some(narrow(snapshot.waiting)));
    }

    pub(crate) fn wait(&mut self, waited: Duration) {
        self.waited = self.waited.saturating_add(1);
        self.longest_wait = self.longest_wait.max(waited);
    }

    pub(crate) fn refusal(&mut self, reason: &RefusedReason, waited: Duration) {
        self.refusals.count(reason);
        self.longest_wait = self.longest_wait.max(waited);
    }

    pub(crate) fn retry(&mut self) {
        self.retries = self.retries.saturating_add(1);
    }

    pub(crate) fn gave_up(&mut self) {
        self.gave_up = self.gave_up.saturating_add(1);
    }

    pub(crate) fn set(&mut self, state: State) {
        self.state = state;
        self.least_limit = self.least_limit.min(state.limit);
        self.greatest_limit = self.greatest_limit.max(state.limit);
    }

    /// The limit was this one all along, as is known now.
    pub(crate) fn began(&mut self, limit: f64) {
        self.state.limit = limit;
        (self.least_limit, self.greatest_limit) = (limit, limit);
    }

    /// With what came right after it.
    pub(crate) fn add(&mut self, later: &Self) {
        self.refusals.add(&later.refusals);
        *self = Self {
            refusals: self.refusals,
            successes: self.successes.saturating_add(later.successes),
            overloads: std::array::from_fn(|cause| {
                self.overloads[cause].saturating_add(later.overloads[cause])
            }),
            failures: self.failures.saturating_add(later.failures),
            ignored: self.ignored.saturating_add(later.ignored),
            peak_in_flight: self.peak_in_flight.max(later.peak_in_flight),
            in_flight_sum: self.in_flight_sum.saturating_add(later.in_flight_sum),
            in_flight_seen: self.in_flight_seen.saturating_add(later.in_flight_seen),
            waiting: self.waiting.max(later.waiting),
            waited: self.waited.saturating_add(later.waited),
            longest_wait: self.longest_wait.max(later.longest_wait),
            retries: self.retries.saturating_add(later.retries),
            gave_up: self.gave_up.saturating_add(later.gave_up),
            state: later.state,
            least_limit: self.least_limit.min(later.least_limit),
            greatest_limit: self.greatest_limit.max(later.greatest_limit),
            changes: self.changes.saturating_add(later.changes),
            paused: self.paused || later.paused,
        }
    }

    pub(crate) fn overloads(&self) -> u64 {
        self.overloads.iter().copied().map(u64::from).sum()
    }

    pub(crate) fn overloads_by(&self, cause: Cause) -> u64 {
        u64::from(self.overloads[cause as usize])
    }

    /// Whether anything was heard of answers.
    pub(crate) fn is_heard(&self) -> bool {
        self.answered() + u64::from(self.ignored) > 0
    }

    /// Whether there was a limit at any time.
    pub(crate) fn is_limited(&self) -> bool {
        whole(self.least_limit) < NO_LIMIT
    }

    /// Those that say something about the service.
    pub(crate) fn answered(&self) -> u64 {
        u64::from(self.successes) + self.overloads() + u64::from(self.failures)
    }

    /// Share of overloads and failures among the answers, if there are any.
    pub(crate) fn failed_share(&self) -> Option<f64> {
        let failed = self.overloads() + u64::from(self.failures);
        (self.answered() > 0).then(|| failed as f64 / self.answered() as f64)
    }

    /// As the answers found it, on average, themselves included.
    pub(crate) fn mean_in_flight(&self) -> Option<f64> {
        (self.in_flight_seen > 0)
            .then(|| self.in_flight_sum as f64 / f64::from(self.in_flight_seen))
    }

    fn in_flight(&mut self, in_flight: usize) {
        let in_flight = narrow(in_flight);
        self.peak_in_flight = self.peak_in_flight.max(in_flight);
        self.in_flight_sum = self.in_flight_sum.saturating_add(u64::from(in_flight));
        self.in_flight_seen = self.in_flight_seen.saturating_add(1);
    }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
