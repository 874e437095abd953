//! A run as one HTML page.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::Cause;

use crate::a_move::Move;
use crate::history::History;
use crate::picture::{self, Drawing, Shape};
use crate::runs::runs;
use crate::span::Span;
use crate::text::escape;
use crate::{table, time, words};

/// How many reasons are shown where one points; there may be more.
const REASONS: usize = 5;

const WIDE: Shape = Shape {
    width: 1000,
    part: 100.0,
    alone: false,
};

/// Drawn anew rather than made smaller, so that it can be read on a phone.
const NARROW: Shape = Shape {
    width: 390,
    part: 84.0,
    alone: false,
};

pub(crate) fn page(history: &History, title: Option<&str>) -> String {
    let name = escape(title.unwrap_or("A run"));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{name}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n\
         <h1>{name}</h1>\n",
        include_str!("page.css"),
    );
    tiles(&mut page, history);
    for (class, shape) in [("wide", WIDE), ("narrow", NARROW)] {
        let Drawing { svg, left, right } = picture::draw(history, title, shape);
        let _ = write!(
            page,
            "<div class=\"picture {class}\" tabindex=\"0\" data-left=\"{left:.4}\" data-right=\"{right:.4}\">\n\
             {svg}<div class=\"rule\" hidden></div></div>\n"
        );
    }
    reasons(&mut page, history);
    let _ = write!(
        page,
        "<details><summary>As text</summary><pre>{}</pre></details>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n</main>\n\
         <script type=\"application/json\" id=\"moments\">{}</script>\n\
         <script>{}</script>\n</body>\n</html>\n",
        escape(&table::table(history, title)),
        moments(history),
        include_str!("page.js"),
    );
    page
}

/// The numbers of the whole run.
fn tiles(page: &mut String, history: &History) {
    let Some(run) = history.whole() else {
        return;
    };
    let counts = run.counts();
    let elapsed = time::words(history.elapsed());
    let seconds = history.elapsed().as_secs_f64().max(1e-3);
    let latency = |quantile| {
        let latency = run.interval.latency(quantile);
        latency.map_or_else(|| String::from("–"), time::words)
    };
    let mut tiles = Vec::new();
    if counts.is_heard() {
        let successes = f64::from(counts.successes) / seconds;
        let answered = counts.answered().to_string();
        tiles.extend([
            (format!("answered in {elapsed}"), answered),
            (String::from("successes / s"), words::number(successes)),
            (
                String::from("failed"),
                words::percent(counts.failed_share()),
            ),
        ]);
        if counts.ignored > 0 {
            tiles.push((String::from("ignored"), counts.ignored.to_string()));
        }
        tiles.extend([
            (String::from("median latency"), latency(0.5)),
            (String::from("p99 latency"), latency(0.99)),
        ]);
    } else {
        let longest = time::words(counts.longest_wait);
        tiles.extend([
            (format!("waited in {elapsed}"), counts.waited.to_string()),
            (String::from("longest wait"), longest),
        ]);
    }
    let refused = counts.refusals.total();
    if refused > 0 {
        tiles.push((String::from("refused unsent"), refused.to_string()));
    }
    let (what, value) = words::limit_or_pace(history, counts);
    tiles.push((what.to_owned(), value));
    let further = words::further_paces(history);
    tiles.extend(further.map(|further| (String::from("further paces"), further)));
    page.push_str("<dl class=\"tiles\">\n");
    for (what, value) in tiles {
        let _ = writeln!(page, "<div><dt>{what}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>\n");
    for line in words::summaries(history).iter().skip(1) {
        let _ = writeln!(page, "<p>{}</p>", escape(line));
    }
}

/// The moves that are numbered in the picture.
fn reasons(page: &mut String, history: &History) {
    let marks = picture::marks(history);
    if marks.is_empty() {
        return;
    }
    page.push_str("<h2>What moved it most</h2>\n<table>\n");
    for mark in marks {
        let class = match mark.it.direction() {
            1 => "up",
            -1 => "down",
            _ => "else",
        };
        let _ = writeln!(
            page,
            "<tr class=\"{class}\"><td><b>{}</b></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            mark.number,
            time::words(mark.it.at),
            escape(&words::adjusted(&mark.it)),
            escape(&words::why(&mark.it)),
        );
    }
    page.push_str("</table>\n");
}

/// What is said where one points, as JSON: when each stretch begins and ends, in parts of the run, what
/// there was how much of, and what moved and why.
fn moments(history: &History) -> String {
    let elapsed = history.elapsed().max(Duration::from_millis(1));
    let moves: Vec<&Move> = history.moves().iter().collect();
    let said = picture::spans(history)
        .iter()
        .map(|span| {
            let from = moves.partition_point(|it| it.at < span.from);
            let until = moves.partition_point(|it| it.at < span.until);
            let when = format!("{} – {}", time::words(span.from), time::words(span.until));
            json!({
                "from": span.from.div_duration_f64(elapsed),
                "until": span.until.div_duration_f64(elapsed),
                "when": when,
                "numbers": numbers(span),
                "moves": moved(&moves[from..until]),
            })
        })
        .collect();
    // Within a script element only this ends it.
    Value::Array(said).to_string().replace('<', "\\u003c")
}

/// Those that there are.
fn numbers(span: &Span) -> Vec<(&'static str, String)> {
    let counts = span.counts();
    let [limit, least, greatest] = [
        counts.state.limit,
        counts.least_limit,
        counts.greatest_limit,
    ]
    .map(words::limit);
    let between = format!("{limit} ({least} – {greatest})");
    let in_flight = |mean: f64| format!("{mean:.0}, at most {}", counts.peak_in_flight);
    let some = |count: u64| (count > 0).then(|| count.to_string());
    let percent = |share: Option<f64>| share.map(|share| words::percent(Some(share)));
    let longest = Some(counts.longest_wait).filter(|longest| !longest.is_zero());
    let by = |cause| some(counts.overloads_by(cause));
    let numbers = [
        (
            "limit",
            Some(if least == greatest { limit } else { between }),
        ),
        ("in flight", counts.mean_in_flight().map(in_flight)),
        ("waiting", counts.waiting.and_then(|most| some(most.into()))),
        ("waited", some(counts.waited.into())),
        ("longest wait", longest.map(time::words)),
        (
            "refused unsent",
            some(counts.refusals.total()).map(|_| counts.refusals.to_string()),
        ),
        (
            "succeeded",
            counts.is_heard().then(|| counts.successes.to_string()),
        ),
        ("throttled", by(Cause::Throttled)),
        ("unavailable", by(Cause::Unavailable)),
        ("timed out", by(Cause::TimedOut)),
        ("no connection", by(Cause::Connection)),
        ("failed", some(counts.failures.into())),
        ("ignored", some(counts.ignored.into())),
        ("share failed", percent(counts.failed_share())),
        ("setpoint", percent(counts.state.setpoint)),
        ("tried again", some(counts.retries.into())),
        ("given up", some(counts.gave_up.into())),
        ("median", span.interval.latency(0.5).map(time::words)),
        ("p99", span.interval.latency(0.99).map(time::words)),
        ("pace", counts.state.pace.map(words::pace)),
        ("pause", counts.paused.then(|| String::from("yes"))),
    ];
    let there = numbers.into_iter();
    there
        .filter_map(|(what, value)| Some((what, value?)))
        .collect()
}

fn moved(moves: &[&Move]) -> Vec<(String, String)> {
    let runs = runs(moves.iter().copied(), u32::MAX);
    let seen = runs.iter().filter(|run| run.is_visible()).take(REASONS);
    seen.map(|run| (words::adjusted(run), words::why(run)))
        .collect()
}
