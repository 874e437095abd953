use std::fmt::Write;

use crate::history::{History, Span};
use crate::moves::Move;
use crate::runs::{net, runs, without_probes};
use crate::{time, words};

/// How many stretches of time there are about.
const ROWS: u32 = 32;

/// How many moves a row shows; where there are more it shows a swing.
const MOVES: usize = 2;

/// From which ratio on a move in all is more than a swing, in powers of 2: a fifth.
const SHIFT: f64 = 0.3;

/// What stands before the last two columns.
const BEFORE: usize = 33;

/// How wide the last two columns are, which makes 100 characters.
const ADJUSTED: usize = 16;
const WHY: usize = 48;

pub(crate) fn table(history: &History, title: Option<&str>) -> String {
    let mut text = title.map_or_else(String::new, |title| format!("{title}\n"));
    text += &words::summary(history);
    let width = time::round(history.length().max(history.elapsed() / ROWS));
    let spans = history.spans(width);
    if spans.is_empty() {
        return text + "\n";
    }
    let _ = write!(
        text,
        "\n\n{:>7}  {:>5}  {:>8}  {:>7}  {:<ADJUSTED$} why\n",
        "time", "limit", "answered", "failed", "adjusted"
    );
    let moves: Vec<&Move> = history.moves().iter().collect();
    let mut moves = &moves[..];
    for span in &spans {
        let here = moves.partition_point(|it| it.at < span.from + width);
        let counts = span.counts();
        let _ = write!(
            text,
            "{:>7}  {:>5}  {:>8}  {:>7}",
            time::tick(span.from, width, history.elapsed()),
            words::limit(counts.state.limit),
            counts.answered(),
            words::percent(counts.failed_share()),
        );
        let adjustments = adjustments(span, &moves[..here]);
        if adjustments.is_empty() {
            text.push('\n');
        }
        for (index, (adjusted, why)) in adjustments.into_iter().enumerate() {
            let indent = if index == 0 { 0 } else { BEFORE };
            adjustment(&mut text, indent, adjusted, &why);
        }
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
/// in all, or between which limits they swung.
fn adjustments(span: &Span, moves: &[&Move]) -> Vec<(String, String)> {
    let mut runs = runs(moves.iter().copied(), u32::MAX);
    runs.retain(Move::is_visible);
    if runs.len() > MOVES {
        let moves = without_probes(moves.iter().copied());
        if let Some(net) = net(&moves).filter(|net| net.ratio().abs() >= SHIFT) {
            return vec![(words::adjusted(&net), words::why(&net))];
        }
        let swing = words::swing(span.counts());
        let most = moves
            .iter()
            .max_by(|a, b| a.weight().total_cmp(&b.weight()));
        return most
            .map(|most| (swing, words::why(most)))
            .into_iter()
            .collect();
    }
    let said = runs
        .iter()
        .map(|run| (words::adjusted(run), words::why(run)));
    said.collect()
}

/// The last columns.
fn adjustment(text: &mut String, mut indent: usize, mut adjusted: String, why: &str) {
    if adjusted.chars().count() > ADJUSTED {
        let _ = writeln!(text, "{:indent$}  {adjusted}", "");
        (adjusted, indent) = (String::new(), BEFORE);
    }
    for why in wrap(why, WHY) {
        let _ = writeln!(text, "{:indent$}  {adjusted:<ADJUSTED$} {why}", "");
        (adjusted, indent) = (String::new(), BEFORE);
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
