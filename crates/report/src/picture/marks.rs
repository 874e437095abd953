use std::time::Duration;

use plotters::style::RGBColor;

use crate::a_move::Move;
use crate::history::History;
use crate::picture::colors;
use crate::runs::{net, without_probes};

/// How many moves a picture points out.
const MARKS: usize = 10;

/// Parts of the run.
const APART: u32 = 30;

/// How far a limit or a pace has to go, in powers of 2: a fifth.
const LEAST: f64 = 0.3;

/// A move that a picture points out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// From 1 on.
    pub(crate) number: usize,
    pub(crate) it: Move,
}

impl Mark {
    pub(crate) fn color(&self) -> RGBColor {
        match self.it.direction() {
            1 => colors::LIMIT,
            -1 => colors::OVERLOAD,
            _ => colors::PACE,
        }
    }
}

/// The moves that matter most, far enough from each other to be told apart, in their order.
pub(crate) fn marks(history: &History) -> Vec<Mark> {
    let apart = history.elapsed() / APART;
    let mut shifts = shifts(&without_probes(history.moves().iter()), apart);
    shifts.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    let mut marked: Vec<Move> = Vec::new();
    for shift in shifts {
        let free = |other: &Move| other.at.abs_diff(shift.at) >= apart;
        if marked.len() < MARKS && marked.iter().all(free) {
            marked.push(shift);
        }
    }
    marked.sort_by_key(|it| it.at);
    let numbered = (1..).zip(marked);
    numbered.map(|(number, it)| Mark { number, it }).collect()
}

/// Where limit and pace went within `window` before each move and with it, from where they had farthest to
/// go, if that is far; and each that is shown alone.
fn shifts(moves: &[Move], window: Duration) -> Vec<Move> {
    let mut shifts: Vec<Move> = Vec::new();
    for (index, it) in moves.iter().enumerate() {
        let begin = it.at.saturating_sub(window);
        let first = moves.partition_point(|other| other.at < begin).min(index);
        let way = |other: &Move| other.ratio_to(it).abs();
        let farthest = (first..=index).max_by(|a, b| way(&moves[*a]).total_cmp(&way(&moves[*b])));
        let there = net(&moves[farthest.unwrap_or(index)..=index]);
        shifts.extend(there.filter(|there| there.ratio().abs() >= LEAST));
        shifts.extend(it.is_event().then_some(*it));
    }
    shifts
}
