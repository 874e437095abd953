use std::fmt;

use serde::Serialize;
use tidegate::batch::Summary;
use tidegate_testkit::Report;

use super::model::{MINUTE, REQUESTS, TOKENS};

/// What the model's two meters passed, of all that they could have passed from the first request to the
/// end of the last answer: what they held at first, and what flowed in.
#[derive(Debug, Serialize)]
pub(crate) struct Usage {
    pub(crate) succeeded: usize,
    pub(crate) seconds: f64,
    pub(crate) tokens: u64,
    /// Of the requests, `0.0..=1.0`.
    pub(crate) requests_used: f64,
    /// Of the tokens, `0.0..=1.0`.
    pub(crate) tokens_used: f64,
    pub(crate) tries: u64,
    /// Those that were answered 429.
    pub(crate) refused: u64,
}

impl Usage {
    pub(crate) fn new(report: &Report, summary: &Summary) -> Self {
        let minutes = summary.took.as_secs_f64() / MINUTE.as_secs_f64();
        let share = |used: u64, limit: u32| used as f64 / (f64::from(limit) * (1.0 + minutes));
        Self {
            succeeded: summary.counts.succeeded,
            seconds: summary.took.as_secs_f64(),
            tokens: report.tokens,
            requests_used: share(report.served, REQUESTS),
            tokens_used: share(report.tokens, TOKENS),
            tries: report.arrivals,
            refused: report.limited,
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [requests, tokens] = [self.requests_used, self.tokens_used].map(|share| 100.0 * share);
        write!(
            f,
            "{} tokens; used {requests:.1} % of the requests and {tokens:.1} % of the tokens that the \
             model had to give; {} of {} tries refused",
            self.tokens, self.refused, self.tries
        )
    }
}
