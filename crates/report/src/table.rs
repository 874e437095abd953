use std::fmt::Write;
use std::time::Duration;

use crate::a_move::Move;
use crate::counts::Counts;
use crate::history::History;
use crate::runs::{net, runs, without_probes};
use crate::span::Span;
use crate::{time, words};

/// How many stretches of time there are about.
const ROWS: u32 = 32;

/// How many moves a row shows; where there are more it shows a swing.
const MOVES: usize = 2;

/// From which ratio on a move in all is more than a swing, in powers of 2: a fifth.
const SHIFT: f64 = 0.3;

/// How wide a table is at most, its first column at least, and the last but one.
const WIDTH: usize = 100;
const TIME: usize = 7;
const ADJUSTED: usize = 16;

/// Numbers of a stretch of time.
#[derive(Clone, Copy, Debug)]
struct Column {
    name: &'static str,
    width: usize,
    value: fn(&Counts) -> String,
}

impl Column {
    fn new(name: &'static str, width: usize, value: fn(&Counts) -> String) -> Self {
        Self { name, width, value }
    }
}

/// What there is to say: of answers where a law hears them, else of waits.
fn columns(spans: &[Span], run: &Counts) -> Vec<Column> {
    let mut columns = Vec::new();
    let is_paced = spans.iter().any(|span| span.counts().state.pace.is_some());
    if run.is_limited() || !is_paced {
        columns.push(Column::new("limit", 5, |it| words::limit(it.state.limit)));
    }
    if is_paced {
        columns.push(Column::new("pace", 7, |it| {
            it.state.pace.map_or_else(|| String::from("–"), words::pace)
        }));
    }
    if run.is_heard() || run.waited == 0 {
        columns.push(Column::new("answered", 8, |it| it.answered().to_string()));
        columns.push(Column::new("failed", 7, |it| {
            words::percent(it.failed_share())
        }));
    } else {
        columns.push(Column::new("waited", 8, |it| it.waited.to_string()));
        columns.push(Column::new("at most", 7, |it| match it.longest_wait {
            Duration::ZERO => String::from("–"),
            longest => time::words(longest),
        }));
    }
    if run.refusals.total() > 0 {
        let refused = |it: &Counts| it.refusals.total().to_string();
        columns.push(Column::new("refused", 7, refused));
    }
    for Column { width, value, .. } in &mut columns {
        *width = widest(spans.iter().map(|span| value(span.counts())), *width);
    }
    columns
}

/// The width of the widest, and at least this.
fn widest(values: impl Iterator<Item = String>, least: usize) -> usize {
    values.map(|it| it.chars().count()).fold(least, usize::max)
}

pub(crate) fn table(history: &History, title: Option<&str>) -> String {
    let mut text = title.map_or_else(String::new, |title| format!("{title}\n"));
    for line in words::summaries(history) {
        for line in wrap(&line, WIDTH) {
            let _ = writeln!(text, "{line}");
        }
    }
    let Some(run) = history.whole() else {
        return text;
    };
    let width = time::round(history.length().max(history.elapsed() / ROWS));
    let spans = history.spans(width);
    let columns = columns(&spans, run.counts());
    let tick = |span: &Span| time::tick(span.from, width, history.elapsed());
    let time = widest(spans.iter().map(tick), TIME);
    let _ = write!(text, "\n{:>time$}", "time");
    for column in &columns {
        let _ = write!(text, "  {:>1$}", column.name, column.width);
    }
    let _ = writeln!(text, "  {:<ADJUSTED$} why", "adjusted");
    let before = time + columns.iter().map(|it| 2 + it.width).sum::<usize>();
    let moves: Vec<&Move> = history.moves().iter().collect();
    let mut moves = &moves[..];
    for span in &spans {
        let here = moves.partition_point(|it| it.at < span.from + width);
        let _ = write!(text, "{:>time$}", tick(span));
        for column in &columns {
            let value = (column.value)(span.counts());
            let _ = write!(text, "  {value:>0$}", column.width);
        }
        adjust(&mut text, before, adjustments(span, &moves[..here]));
        moves = &moves[here..];
    }
    let left_out = history.moves().left_out();
    if left_out > 0 {
        let _ = writeln!(
            text,
            "the reasons of {left_out} lesser changes were not kept"
        );
    }
    text
}

/// What was adjusted and why: moves of a kind in a row as one; many of different kinds by where they led
/// in all, or between which limits they swung, and what an operator aims at.
fn adjustments(span: &Span, moves: &[&Move]) -> Vec<(String, String)> {
    let said = |it: &Move| (words::adjusted(it), words::why(it));
    let mut runs = runs(moves.iter().copied(), u32::MAX);
    runs.retain(Move::is_visible);
    if runs.len() <= MOVES {
        return runs.iter().map(said).collect();
    }
    let (aims, moves): (Vec<Move>, Vec<Move>) = without_probes(moves.iter().copied())
        .into_iter()
        .partition(Move::aims);
    let net = net(&moves).filter(|net| net.ratio().abs() >= SHIFT);
    let most = || {
        let most = moves
            .iter()
            .max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
        Some((words::swing(span.counts()), words::why(most)))
    };
    let led = net.as_ref().map(said).or_else(most);
    led.into_iter().chain(aims.iter().map(said)).collect()
}

/// The last columns, of one row or more.
fn adjust(text: &mut String, before: usize, adjustments: Vec<(String, String)>) {
    // Where numbers without end leave none, a table is wider.
    let room = WIDTH.saturating_sub(before + ADJUSTED + 3).max(ADJUSTED);
    let mut indent = 0;
    if adjustments.is_empty() {
        text.push('\n');
    }
    for (mut adjusted, why) in adjustments {
        if adjusted.chars().count() > ADJUSTED {
            let _ = writeln!(text, "{:indent$}  {adjusted}", "");
            (adjusted, indent) = (String::new(), before);
        }
        for why in wrap(&why, room) {
            let _ = writeln!(text, "{:indent$}  {adjusted:<ADJUSTED$} {why}", "");
            (adjusted, indent) = (String::new(), before);
        }
    }
}

/// Lines of at most `width` characters, broken between words where there are any.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("there is a first line");
            let there = line.chars().count();
            let room = width.saturating_sub(there + usize::from(there > 0));
            if word.len() <= room {
                line.extend((there > 0).then_some(' '));
                line.extend(word);
                break;
            }
            if there == 0 {
                line.extend(word.drain(..width));
            }
            lines.push(String::new());
        }
    }
    lines
}
