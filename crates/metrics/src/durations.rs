use std::error::Error;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use http::StatusCode;
use metrics::{Histogram, Label};
use tidegate_classify::errors;
use tidegate_core::{Outcome, Refused};

use crate::names::REQUESTS;
use crate::outcomes::CAUSES;
use crate::register;

/// How long requests to one host took, of one method: by status, and by what went wrong.
///
/// Each histogram is registered when it is first needed, and found by a number from then on.
pub(crate) struct Durations {
    labels: Vec<Label>,
    by_status: [OnceLock<Histogram>; STATUSES],
    by_error: [OnceLock<Histogram>; ERRORS],
}

/// From 100 to 599. Those without a name have a place each, too: to look for a name takes longer than a
/// call may.
const STATUSES: usize = 500;

/// One for each cause of an overload, and two more.
const ERRORS: usize = CAUSES.len() + 2;
const UNKNOWN: usize = 4;
const CANCELLED: usize = 5;

impl Durations {
    pub(crate) fn new(labels: Vec<Label>) -> Self {
        Self {
            labels,
            by_status: [const { OnceLock::new() }; STATUSES],
            by_error: [const { OnceLock::new() }; ERRORS],
        }
    }

    #[inline]
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        let place = usize::from(status.as_u16()).min(99 + STATUSES) - 100;
        let histogram = self.by_status[place].get_or_init(|| self.of_status(status));
        histogram.record(took);
    }

    /// A refusal of ours is not one of the requests: it was not sent.
    pub(crate) fn failed(&self, error: &(dyn Error + 'static), took: Duration) {
        if Refused::find(error).is_some() {
            return;
        }
        self.record_error(
            match errors::outcome(error) {
                Outcome::Overload(cause) => cause as usize,
                _ => UNKNOWN,
            },
            took,
        );
    }

    /// Its caller did not wait for the answer.
    pub(crate) fn cancelled(&self, took: Duration) {
        self.record_error(CANCELLED, took);
    }

    fn record_error(&self, index: usize, took: Duration) {
        let new = || self.register([Label::new("error.type", name(index))]);
        self.by_error[index].get_or_init(new).record(took);
    }

    #[cold]
    fn of_status(&self, status: StatusCode) -> Histogram {
        let code = known(status);
        let status = Label::new("http.response.status_code", code.to_string());
        let error = (code >= 400).then(|| Label::new("error.type", code.to_string()));
        self.register([status].into_iter().chain(error))
    }

    fn register(&self, more: impl IntoIterator<Item = Label>) -> Histogram {
        let labels: Vec<Label> = self.labels.iter().cloned().chain(more).collect();
        register::histogram(REQUESTS, &labels)
    }
}

fn name(error: usize) -> &'static str {
    match error {
        UNKNOWN => "_OTHER",
        CANCELLED => "cancelled",
        cause => CAUSES[cause].name(),
    }
}

/// One that has a name; of others, which a service could make any number of, the class (RFC 9110 §15).
fn known(status: StatusCode) -> u16 {
    match status.as_u16() {
        // "The site is overloaded": no standard has it, and APIs use it.
        529 => 529,
        code if status.canonical_reason().is_some() => code,
        code => (code / 100).min(5) * 100,
    }
}

impl fmt::Debug for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durations")
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_without_a_name_counts_as_its_class() {
        for (code, counted) in [
            (100, 100),
            (200, 200),
            (226, 226),
            (299, 200),
            (418, 418),
            (451, 451),
            (429, 429),
            (599, 500),
            (529, 529),
            (999, 500),
        ] {
            assert_eq!(known(StatusCode::from_u16(code).unwrap()), counted);
        }
    }

    #[test]
    fn every_status_has_a_place() {
        let durations = Durations::new(Vec::new());
        for code in 100..1_000 {
            durations.answered(StatusCode::from_u16(code).unwrap(), Duration::ZERO);
        }
    }
}
