//! What a move, a share and a run are called.

use std::fmt::Write;
use std::time::Duration;

use tidegate_core::text;

use crate::counts::Counts;
use crate::history::History;
use crate::moves::{Move, NO_LIMIT, whole};
use crate::time;

/// A reason of a law's own is not longer than this.
const LONGEST: usize = 200;

/// `↓ 32 → 16`, in how many changes where there were several, with the pace and the pause where they moved.
pub(crate) fn adjusted(it: &Move) -> String {
    let (from, to) = (&it.change.from, &it.change.to);
    let mut words = Vec::new();
    if it.limits() {
        let arrow = if to.limit > from.limit { '↑' } else { '↓' };
        let (from, to) = (limit(from.limit), limit(to.limit));
        words.push(format!("{arrow} {from} → {to}"));
    }
    if it.paces() {
        words.push(match to.pace {
            Some(pace) => format!("{}/s", number(pace.rate())),
            None => String::from("no pace"),
        });
    }
    if it.pauses() {
        words.push(String::from("pause"));
    }
    if let ([only], 2..) = (&mut words[..], it.steps) {
        let _ = write!(only, " ({}×)", it.steps);
    }
    words.join(", ")
}

/// As a door uses it; `none` where it lets all through.
pub(crate) fn limit(limit: f64) -> String {
    match whole(limit) {
        NO_LIMIT => String::from("none"),
        limit => limit.to_string(),
    }
}

/// `↕ 18–36 (26×)`: from the least to the greatest limit, in how many changes.
pub(crate) fn swing(counts: &Counts) -> String {
    let (least, greatest) = (limit(counts.least_limit), limit(counts.greatest_limit));
    format!("↕ {least}–{greatest} ({}×)", counts.changes)
}

/// Why it moved.
pub(crate) fn why(it: &Move) -> String {
    text::tame(&it.change.reason.to_string(), LONGEST)
}

/// `1.9 %`; a dash where nothing was answered.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(
        || String::from("–"),
        |share| format!("{:.1} %", 100.0 * share),
    )
}

/// Three digits at most, as far as they are not before the point.
pub(crate) fn number(number: f64) -> String {
    let decimals = match number.abs() {
        0.0..9.95 if number.fract() != 0.0 => 2,
        9.95..99.5 if number.fract() != 0.0 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// The run in one line.
pub(crate) fn summary(history: &History) -> String {
    let Some(run) = history.spans(Duration::MAX).pop() else {
        return String::from("nothing was heard yet");
    };
    let counts = run.counts();
    let mut words = format!(
        "{} answered in {}: {} failed",
        counts.answered(),
        time::words(history.elapsed()),
        percent(counts.failed_share()),
    );
    if let (Some(half), Some(most)) = (run.interval.latency(0.5), run.interval.latency(0.99)) {
        let (half, most) = (time::words(half), time::words(most));
        let _ = write!(words, "; latency {half}, p99 {most}");
    }
    let _ = write!(words, "; limit {}", limits(history, counts));
    if history.is_shadow() {
        words.push_str(", in shadow: not followed");
    }
    words
}

/// `1 → 87`, or `10` if it stood.
pub(crate) fn limits(history: &History, run: &Counts) -> String {
    let (first, last) = (limit(history.first_limit()), limit(run.state.limit));
    if whole(run.least_limit) == whole(run.greatest_limit) {
        last
    } else {
        format!("{first} → {last}")
    }
}
