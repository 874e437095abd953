use std::time::Duration;

use hdrhistogram::Histogram;
use tidegate_core::{Error, Refused, chain};

use crate::counts::Counts;
use crate::panicked::Panicked;
use crate::refusals::{self, Refusals};

/// What a run has come to so far.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    /// Microseconds of the tries that succeeded.
    pub(crate) latency: Histogram<u64>,
    pub(crate) refusals: Vec<Refusals>,
    pub(crate) first_failure: Option<(usize, String)>,
}

/// Decimal digits that a latency is kept with.
const DIGITS: u8 = 3;

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            counts: Counts::default(),
            latency: Histogram::new(DIGITS).expect("so many digits can be kept"),
            refusals: Vec::new(),
            first_failure: None,
        }
    }

    pub(crate) fn try_succeeded(&mut self, latency: Duration) {
        self.counts.tries += 1;
        self.counts.succeeded += 1;
        self.latency += u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    }

    /// `refused` is what the stack said of it, if it was not sent.
    pub(crate) fn try_failed(&mut self, refused: Option<&Refused>) {
        self.counts.tries += 1;
        self.counts.failed_tries += 1;
        if let Some(refused) = refused {
            refusals::count(&mut self.refusals, refused);
        }
    }

    /// A request whose last try failed like this.
    pub(crate) fn failed(&mut self, index: usize, refused: bool, error: &Error) {
        self.counts.panicked += usize::from(error.find::<Panicked>().is_some());
        *if refused {
            &mut self.counts.refused
        } else {
            &mut self.counts.failed
        } += 1;
        self.first_failure
            .get_or_insert_with(|| (index, words(error)));
    }
}

/// What an error and its causes say, each once.
fn words(error: &Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in chain(error) {
        let more = cause.to_string();
        if words.last().is_none_or(|last| !last.ends_with(&more)) {
            words.push(more);
        }
    }
    words.join(": ")
}
