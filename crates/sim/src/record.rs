use std::time::Duration;

use crate::series::Series;

/// What a run leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// How long it ran: the duration of the scenario, or until its batch was done.
    pub elapsed: Duration,
    /// How many events that took.
    pub events: u64,
    /// Whether it was cut short in a hot loop of refusals; its rates are taken as they were then.
    pub cut: bool,
    /// Requests that succeeded.
    pub successes: u64,
    /// Requests that were overloads, timeouts included.
    pub overloads: u64,
    /// Requests that failed for another reason.
    pub failures: u64,
    /// Requests whose answer says nothing about the service.
    pub ignored: u64,
    /// Sum of the latencies of the successes, in seconds; in an open load since they came up, with
    /// the age of those not served at the end.
    pub latency_sum: f64,
    /// How many latencies that is.
    pub latency_count: u64,
    /// How it went over time.
    pub series: Series,
}

impl Record {
    /// Whether most requests did not succeed.
    pub(crate) fn mostly_failed(&self) -> bool {
        self.overloads + self.failures + self.ignored > self.successes
    }

    /// Successes per second, over the whole run.
    pub fn goodput(&self) -> f64 {
        self.successes as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Overloads among successes and overloads.
    pub fn waste(&self) -> f64 {
        let answers = self.successes + self.overloads;
        self.overloads as f64 / answers.max(1) as f64
    }

    /// Mean latency in seconds; the whole run, where nothing succeeded.
    pub fn latency(&self) -> f64 {
        if self.latency_count == 0 {
            return self.elapsed.as_secs_f64();
        }
        self.latency_sum / self.latency_count as f64
    }
}
