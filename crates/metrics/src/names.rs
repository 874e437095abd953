//! What the metrics and their labels are called, and what they are.

use metrics::Unit;

pub(crate) const STACK: &str = "tidegate.stack";
pub(crate) const KEY: &str = "tidegate.key";
pub(crate) const REASON: &str = "tidegate.reason";
pub(crate) const PACE_NUMBER: &str = "tidegate.pace.number";
pub(crate) const OUTCOME: &str = "tidegate.outcome";

/// What a pace's number is as a label.
pub(crate) const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// The key of all that have no label of their own, and the address of all such hosts.
pub(crate) const OTHER: &str = "other";

/// What two kinds of doors have in common, each under its own names.
#[derive(Debug)]
pub(crate) struct DoorNames {
    pub(crate) outcomes: &'static str,
    pub(crate) pace: &'static str,
    pub(crate) pause: &'static str,
    pub(crate) refused: &'static str,
    pub(crate) wait: &'static str,
    pub(crate) waiting: &'static str,
}

/// Gates, and what is one with its gate: governors and probers.
pub(crate) static GATE: DoorNames = DoorNames {
    outcomes: "tidegate.gate.outcomes",
    pace: "tidegate.gate.pace",
    pause: "tidegate.gate.pause",
    refused: "tidegate.gate.refused",
    wait: "tidegate.gate.wait.duration",
    waiting: "tidegate.gate.waiting",
};

/// Rates.
pub(crate) static RATE: DoorNames = DoorNames {
    outcomes: "tidegate.rate.outcomes",
    pace: "tidegate.rate.pace",
    pause: "tidegate.rate.pause",
    refused: "tidegate.rate.refused",
    wait: "tidegate.rate.wait.duration",
    waiting: "tidegate.rate.waiting",
};

/// Of gates alone: without a limit nobody is counted.
pub(crate) const LIMIT: &str = "tidegate.gate.limit";
pub(crate) const IN_FLIGHT: &str = "tidegate.gate.in_flight";

pub(crate) const SETPOINT: &str = "tidegate.governor.setpoint";
pub(crate) const FAILURE_SHARE: &str = "tidegate.governor.failure_share";
pub(crate) const RETRIES: &str = "tidegate.retry.attempts";
pub(crate) const GAVE_UP: &str = "tidegate.retry.gave_up";
pub(crate) const REQUESTS: &str = "http.client.request.duration";

/// Says to the recorder what they are.
pub(crate) fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};

    for door in [&GATE, &RATE] {
        let outcomes = "Answers that the law heard of, by outcome.";
        describe_counter!(door.outcomes, Unit::Count, outcomes);
        let refused = "Requests that were refused and never sent, by reason.";
        describe_counter!(door.refused, Unit::Count, refused);
        let waiting = "How many requests wait to be sent.";
        describe_gauge!(door.waiting, Unit::Count, waiting);
        let pace = "How many may start per second, in the unit of its costs; 0 without a pace.";
        describe_gauge!(door.pace, Unit::CountPerSecond, pace);
        let pause = "For how long nobody is sent from now on; 0 without a pause.";
        describe_gauge!(door.pause, Unit::Seconds, pause);
        let wait = "How long requests waited that had to and then were sent.";
        describe_histogram!(door.wait, Unit::Seconds, wait);
    }
    describe_gauge!(LIMIT, Unit::Count, "How many requests may be in flight.");
    describe_gauge!(IN_FLIGHT, Unit::Count, "How many requests are in flight.");
    let setpoint = "The share of failures that the governor holds, from 0 to 1.";
    describe_gauge!(SETPOINT, Unit::Percent, setpoint);
    let share = "The share of overloads and failures among the last answers, from 0 to 1.";
    describe_gauge!(FAILURE_SHARE, Unit::Percent, share);
    let retries = "Retries that were decided on, those that a layer below then refused included.";
    describe_counter!(RETRIES, Unit::Count, retries);
    let gave_up = "Calls that ended with a failure that might have passed, by why it was the last.";
    describe_counter!(GAVE_UP, Unit::Count, gave_up);
    let requests =
        "Duration of HTTP client requests: of each attempt, up to the head of its response.";
    describe_histogram!(REQUESTS, Unit::Seconds, requests);
}
