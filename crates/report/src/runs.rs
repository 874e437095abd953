//! Moves in a row, as one.

use tidegate_core::{Change, Reason};

use crate::a_move::Move;

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
            _ if next.aims() => whole.push(*next),
            (Reason::Probing, None) => probe = Some(*next),
            // Deeper.
            (Reason::Probing | Reason::ProbingDeeper { .. }, Some(_)) => {}
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::Setting;

    use super::*;

    const PROBED: Reason = Reason::Probed {
        base: Duration::from_millis(10),
    };

    fn moves(steps: &[(f64, f64, Reason)]) -> Vec<Move> {
        let steps = (0..).zip(steps);
        let moves = steps.map(|(second, (from, to, reason))| {
            let (from, to, reason) = (Setting::limit(*from), Setting::limit(*to), *reason);
            Move::new(Duration::from_secs(second), Change { from, to, reason })
        });
        moves.collect()
    }

    #[test]
    fn a_probe_is_one_move_from_before_to_after_it() {
        let all = moves(&[
            (20.0, 21.0, Reason::Starting),
            (21.0, 10.0, Reason::Probing),
            (10.0, 5.0, Reason::ProbingDeeper { fell: 0.5 }),
            (5.0, 22.0, PROBED),
        ]);
        let whole = without_probes(&all);
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[1].at, Duration::from_secs(1));
        let change = Change {
            from: Setting::limit(21.0),
            to: Setting::limit(22.0),
            reason: PROBED,
        };
        assert_eq!(whole[1].change, change);
    }

    #[test]
    fn in_all_it_moved_for_what_mattered_most_in_that_direction() {
        let all = moves(&[
            (20.0, 40.0, Reason::Starting),
            (40.0, 10.0, Reason::Dead { overloads: 5 }),
            (10.0, 9.0, Reason::Manual),
        ]);
        let net = net(&all).unwrap();
        assert_eq!((net.change.from.limit, net.change.to.limit), (20.0, 9.0));
        assert_eq!(net.change.reason, Reason::Dead { overloads: 5 });
        assert_eq!((net.at, net.steps), (Duration::from_secs(1), 3));
    }
}
