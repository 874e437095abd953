use std::fmt::Write;

use serde::Serialize;

use crate::strategy::Strategy;
use crate::tally::Tally;

/// What a strategy came to.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    strategy: &'static str,
    requests: usize,
    succeeded: usize,
    refused: usize,
    failed: usize,
    sent: usize,
    seconds: f64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    peak_in_flight: Option<usize>,
}

const HEADS: [&str; 10] = [
    "strategy",
    "requests",
    "succeeded",
    "refused",
    "failed",
    "sent",
    "seconds",
    "p50 ms",
    "p99 ms",
    "peak in flight",
];

impl Summary {
    pub(crate) fn new(
        strategy: Strategy,
        tally: &Tally,
        sent: usize,
        peak_in_flight: Option<usize>,
    ) -> Self {
        Self {
            strategy: strategy.name(),
            requests: tally.done(),
            succeeded: tally.succeeded,
            refused: tally.refused,
            failed: tally.failed,
            sent,
            seconds: tally.took.as_micros() as f64 / 1e6,
            p50_ms: tally.latency_ms(0.50),
            p99_ms: tally.latency_ms(0.99),
            peak_in_flight,
        }
    }

    fn cells(&self) -> [String; HEADS.len()] {
        let ms = |ms: Option<f64>| ms.map_or("–".into(), |ms| format!("{ms:.1}"));
        [
            self.strategy.into(),
            self.requests.to_string(),
            self.succeeded.to_string(),
            self.refused.to_string(),
            self.failed.to_string(),
            self.sent.to_string(),
            format!("{:.2}", self.seconds),
            ms(self.p50_ms),
            ms(self.p99_ms),
            self.peak_in_flight
                .map_or("–".into(), |peak| peak.to_string()),
        ]
    }
}

/// For people to read: names to the left, numbers to the right.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let rows: Vec<_> = summaries.iter().map(Summary::cells).collect();
    let mut text = line(&HEADS.map(String::from));
    for row in &rows {
        text += &line(row);
    }
    text
}

fn line(cells: &[String; HEADS.len()]) -> String {
    let mut text = format!("{:<8}", cells[0]);
    for (cell, head) in cells.iter().zip(HEADS).skip(1) {
        let width = head.len().max(8);
        let _ = write!(text, "  {cell:>width$}");
    }
    text + "\n"
}
