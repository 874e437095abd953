//! Moves in a row, as one.

use tidegate_core::{Change, Reason};

use crate::moves::Move;

/// Those of the same kind in a row, at most `longest`, as one.
pub(crate) fn runs<'a>(moves: impl IntoIterator<Item = &'a Move>, longest: u32) -> Vec<Move> {
    let mut runs: Vec<(Move, u32)> = Vec::new();
    for next in moves {
        match runs.last_mut() {
            Some((run, length)) if *length < longest => match run.followed_by(next) {
                Some(both) => (*run, *length) = (both, *length + 1),
                None => runs.push((*next, 1)),
            },
            _ => runs.push((*next, 1)),
        }
    }
    runs.into_iter().map(|(run, _)| run).collect()
}

/// Each probe as one move: from before it to after it, with the reason for which it ended.
pub(crate) fn without_probes<'a>(moves: impl IntoIterator<Item = &'a Move>) -> Vec<Move> {
    let mut whole: Vec<Move> = Vec::new();
    let mut probe: Option<Move> = None;
    for next in moves {
        match (next.change.reason, probe) {
            (Reason::Probing, None) => probe = Some(*next),
            // Deeper.
            (Reason::Probing, Some(_)) => {}
            (reason, Some(begun)) => {
                let (from, to) = (begun.change.from, next.change.to);
                whole.push(Move::new(begun.at, Change { from, to, reason }));
                probe = None;
            }
            _ => whole.push(*next),
        }
    }
    whole.extend(probe);
    whole
}

/// Where all of them led, when and why the one came that matters most in that direction.
pub(crate) fn net(moves: &[Move]) -> Option<Move> {
    let (first, last) = (moves.first()?, moves.last()?);
    let (from, to) = (first.change.from, last.change.to);
    let reason = last.change.reason;
    let mut net = Move::new(first.at, Change { from, to, reason });
    let there = moves
        .iter()
        .filter(|it| it.direction() == net.direction())
        .max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
    (net.at, net.change.reason) = (there.at, there.change.reason);
    net.steps = moves
        .iter()
        .fold(0, |steps, it| it.steps.saturating_add(steps));
    Some(net)
}
