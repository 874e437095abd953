//! A run as one HTML page.

use std::fmt::Write;
use std::time::Duration;

use tidegate_core::Cause;

use crate::history::{History, Span};
use crate::moves::Move;
use crate::picture::{self, Drawing, Shape};
use crate::runs::runs;
use crate::text::escape;
use crate::{table, time, words};

/// How many reasons are shown where one points; there may be more.
const REASONS: usize = 5;

/// What, and how much of it or why.
type Pairs = Vec<(String, String)>;

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
    let Some(run) = history.spans(Duration::MAX).pop() else {
        return;
    };
    let counts = run.counts();
    let seconds = history.elapsed().as_secs_f64().max(1e-3);
    let latency = |quantile| {
        let latency = run.interval.latency(quantile);
        latency.map_or_else(|| String::from("–"), time::words)
    };
    let tiles = [
        (
            format!("answered in {}", time::words(history.elapsed())),
            counts.answered().to_string(),
        ),
        (
            String::from("successes / s"),
            words::number(f64::from(counts.successes) / seconds),
        ),
        (
            String::from("failed"),
            words::percent(counts.failed_share()),
        ),
        (String::from("median latency"), latency(0.5)),
        (String::from("p99 latency"), latency(0.99)),
        (String::from("limit"), words::limits(history, counts)),
    ];
    page.push_str("<dl class=\"tiles\">\n");
    for (what, value) in tiles {
        let _ = writeln!(page, "<div><dt>{what}</dt><dd>{value}</dd></div>");
    }
    page.push_str("</dl>\n");
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

/// What is said where one points, as JSON: when each stretch begins and ends, in parts of the run, and
/// pairs of what and how much.
fn moments(history: &History) -> String {
    let elapsed = history.elapsed().max(Duration::from_millis(1));
    let moves: Vec<&Move> = history.moves().iter().collect();
    let said: Vec<(f64, f64, Pairs)> = picture::spans(history)
        .iter()
        .map(|span| {
            let from = moves.partition_point(|it| it.at < span.from);
            let until = moves.partition_point(|it| it.at < span.until);
            (
                span.from.div_duration_f64(elapsed),
                span.until.div_duration_f64(elapsed),
                moment(span, &moves[from..until]),
            )
        })
        .collect();
    // Within a script element only this ends it.
    let json = serde_json::to_string(&said).expect("text and finite numbers are JSON");
    json.replace('<', "\\u003c")
}

fn moment(span: &Span, moves: &[&Move]) -> Pairs {
    let counts = span.counts();
    let mut said = Vec::new();
    let mut say = |what: &str, value: String| said.push((what.to_owned(), value));
    say(
        "",
        format!("{} – {}", time::words(span.from), time::words(span.until)),
    );
    let [limit, least, greatest] = [
        counts.state.limit,
        counts.least_limit,
        counts.greatest_limit,
    ]
    .map(words::limit);
    let between = format!("{limit} ({least} – {greatest})");
    say("limit", if least == greatest { limit } else { between });
    if let Some(mean) = counts.mean_in_flight() {
        let peak = counts.peak_in_flight;
        say("in flight", format!("{mean:.0}, at most {peak}"));
    }
    let some = |count: u64| (count > 0).then(|| count.to_string());
    let optional = [
        ("waiting", counts.waiting.and_then(|most| some(most.into()))),
        ("succeeded", Some(counts.successes.to_string())),
        ("throttled", some(counts.overloads_by(Cause::Throttled))),
        ("unavailable", some(counts.overloads_by(Cause::Unavailable))),
        ("timed out", some(counts.overloads_by(Cause::TimedOut))),
        (
            "no connection",
            some(counts.overloads_by(Cause::Connection)),
        ),
        ("failed", some(counts.failures.into())),
        ("not counted", some(counts.ignored.into())),
        (
            "share failed",
            counts
                .failed_share()
                .map(|share| words::percent(Some(share))),
        ),
        ("median", span.interval.latency(0.5).map(time::words)),
        ("p99", span.interval.latency(0.99).map(time::words)),
        (
            "pace",
            counts
                .state
                .pace
                .map(|pace| format!("{}/s", words::number(pace))),
        ),
        ("pause", counts.paused.then(|| String::from("yes"))),
    ];
    for (what, value) in optional {
        value.into_iter().for_each(|value| say(what, value));
    }
    let runs = runs(moves.iter().copied(), u32::MAX);
    for run in runs.iter().filter(|run| run.is_visible()).take(REASONS) {
        say(&words::adjusted(run), words::why(run));
    }
    said
}
