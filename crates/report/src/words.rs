//! What a move, a share and a run are called.

use std::fmt::Write;

use crate::a_move::{Event, Move};
use crate::counts::Counts;
use crate::gave_up::GaveUps;
use crate::history::History;
use crate::limit::{NO_LIMIT, whole};
use crate::{text, time};

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
            Some(to) => pace(to.rate()),
            None => String::from("no pace"),
        });
    }
    match it.event {
        Some(Event::Pause(pause)) => words.push(format!("pause {}", time::words(pause))),
        Some(Event::Aim(from, to)) => {
            let [from, to] = [from, to].map(|share| number(f64::from(100.0 * share)));
            words.push(format!("setpoint {from} → {to} %"));
        }
        None if it.pauses() => words.push(String::from("pause")),
        None => {}
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
    text::words(&it.change.reason.to_string(), LONGEST)
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

/// The run in a line or two.
pub(crate) fn summaries(history: &History) -> Vec<String> {
    let run = history.whole();
    let held_up = run.and_then(|run| held_up(run.counts(), history.gave_up()));
    [summary(history)].into_iter().chain(held_up).collect()
}

/// In one line.
fn summary(history: &History) -> String {
    let Some(run) = history.whole() else {
        return String::from("nothing was heard yet");
    };
    let (counts, elapsed) = (run.counts(), time::words(history.elapsed()));
    let mut words = if counts.is_heard() {
        let failed = percent(counts.failed_share());
        format!(
            "{} answered in {elapsed}: {failed} failed",
            counts.answered()
        ) + &ignored(counts)
    } else {
        format!("no answer was heard of in {elapsed}")
    };
    if let (Some(half), Some(most)) = (run.interval.latency(0.5), run.interval.latency(0.99)) {
        let (half, most) = (time::words(half), time::words(most));
        let _ = write!(words, "; latency {half}, p99 {most}");
    }
    let (what, value) = limit_or_pace(history, counts);
    let _ = write!(words, "; {what} {value}");
    if let Some(further) = further_paces(history) {
        let _ = write!(words, "; further paces {further}");
    }
    if history.is_shadow() {
        words.push_str(", in shadow: not followed");
    }
    words
}

/// `, 300 ignored`: those that say nothing about the service, if there were any.
fn ignored(counts: &Counts) -> String {
    match counts.ignored {
        0 => String::new(),
        ignored => format!(", {ignored} ignored"),
    }
}

/// What became of those that could not enter at once, and of those that failed, if there were any.
fn held_up(counts: &Counts, gave_up: &GaveUps) -> Option<String> {
    let mut words = Vec::new();
    if counts.waited > 0 {
        let longest = time::words(counts.longest_wait);
        words.push(format!("{} waited, at most {longest}", counts.waited));
    }
    if counts.refusals.total() > 0 {
        words.push(format!("refused unsent: {}", counts.refusals));
    }
    if counts.retries > 0 {
        words.push(format!("{} tried again", counts.retries));
    }
    if counts.gave_up > 0 {
        words.push(format!("given up: {gave_up}"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// `50/s`, and `1/min` or `10/h` where there would be no digits left.
pub(crate) fn pace(rate: f64) -> String {
    let (seconds, unit) = match rate {
        0.1.. => (1.0, "s"),
        0.0166.. => (60.0, "min"),
        _ => (3_600.0, "h"),
    };
    // A rate is a quotient: `10/h`, not `10.0/h`.
    let rate = (1_000.0 * seconds * rate).round() / 1_000.0;
    format!("{}/{unit}", number(rate))
}

/// `3333/s, 1/min`: those beside the first, if there are any.
pub(crate) fn further_paces(history: &History) -> Option<String> {
    let further = history.further_paces().iter();
    let further: Vec<_> = further.map(|(_, further)| pace(further.rate())).collect();
    (!further.is_empty()).then(|| further.join(", "))
}

/// What it ran at: a limit, or where there never was one a pace.
pub(crate) fn limit_or_pace(history: &History, run: &Counts) -> (&'static str, String) {
    match run.state.pace {
        Some(rate) if !run.is_limited() => ("pace", pace(rate)),
        _ => ("limit", limits(history, run)),
    }
}

/// `1 → 87`, or `10` if it stood.
fn limits(history: &History, run: &Counts) -> String {
    let (first, last) = (limit(history.first_limit()), limit(run.state.limit));
    if whole(run.least_limit) == whole(run.greatest_limit) {
        last
    } else {
        format!("{first} → {last}")
    }
}

#[cfg(test)]
mod tests {
    use tidegate_core::{per_hour, per_minute, per_second};

    use super::*;

    #[test]
    fn a_pace_is_told_in_the_unit_that_leaves_digits() {
        for (given, told) in [
            (per_second(50.0), "50/s"),
            (per_second(33.3), "33.3/s"),
            (per_minute(10.0), "0.17/s"),
            (per_minute(1.0), "1/min"),
            (per_hour(100.0), "1.67/min"),
            (per_hour(10.0), "10/h"),
            (per_hour(0.5), "0.50/h"),
        ] {
            assert_eq!(pace(given.rate()), told);
        }
    }
}
