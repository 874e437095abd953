use crate::a_move::Move;
use crate::runs::runs;

/// How many are kept at most, 150 bytes each.
const MOST: usize = 512;

/// Into how many a run is divided, so that none of them loses all.
const PARTS: u128 = 64;

/// The changes of a run, in bounded memory: when there are too many, neighbours of the same kind
/// become one, then those that matter least go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moves {
    kept: Vec<Move>,
    left_out: u64,
}

impl Moves {
    pub(crate) fn push(&mut self, it: Move) {
        if self.kept.len() == MOST {
            self.halve();
        }
        let place = self.kept.partition_point(|kept| kept.at <= it.at);
        self.kept.insert(place, it);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Move> {
        self.kept.iter()
    }

    /// How many changes were dropped.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    fn halve(&mut self) {
        self.kept = runs(&self.kept, 2);
        if self.kept.len() > MOST / 2 {
            let (kept, left_out) = weightiest(&self.kept, MOST / 2);
            self.kept = kept;
            self.left_out += left_out;
        }
    }
}

/// The `most` that matter most, in their order, and how many changes that leaves out. Each part of the
/// run keeps those that matter most in it, before any part keeps more.
fn weightiest(moves: &[Move], most: usize) -> (Vec<Move>, u64) {
    let until = moves.last().map_or(0, |last| last.at.as_nanos()) + 1;
    let part = |it: &Move| it.at.as_nanos() * PARTS / until;
    let mut ranked: Vec<(usize, &Move)> = Vec::new();
    for part in moves.chunk_by(|a, b| part(a) == part(b)) {
        let mut part: Vec<&Move> = part.iter().collect();
        part.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
        ranked.extend(part.into_iter().enumerate());
    }
    ranked.sort_by(|(rank, a), (other, b)| {
        let share = |rank| rank * PARTS as usize / most;
        let share = share(*rank).cmp(&share(*other));
        share.then(b.weight().total_cmp(&a.weight()))
    });
    let out = &ranked[most.min(ranked.len())..];
    let left_out = out.iter().map(|(_, out)| u64::from(out.steps)).sum();
    ranked.truncate(most);
    let mut kept: Vec<Move> = ranked.into_iter().map(|(_, kept)| *kept).collect();
    kept.sort_by_key(|kept| kept.at);
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_core::{Change, Reason, Setting};

    use super::*;

    fn step(from: f64, to: f64, reason: Reason) -> Change {
        Change {
            from: Setting::limit(from),
            to: Setting::limit(to),
            reason,
        }
    }

    #[test]
    fn of_too_many_the_heavy_ones_stay_wherever_they_are_and_the_others_are_counted() {
        let mut moves = Moves::default();
        let changes = 100_000;
        for turn in 0..changes {
            let at = Duration::from_millis(turn);
            let change = match turn {
                700 | 60_000 => step(64.0, 4.0, Reason::Dead { overloads: 9 }),
                turn if turn % 2 == 0 => step(32.0, 33.0, Reason::Starting),
                _ => step(33.0, 32.0, Reason::Manual),
            };
            moves.push(Move::new(at, change));
        }
        assert!(moves.iter().count() <= MOST);
        let heavy: Vec<u128> = moves
            .iter()
            .filter(|kept| kept.change.reason == Reason::Dead { overloads: 9 })
            .map(|kept| kept.at.as_millis())
            .collect();
        assert_eq!(heavy, [700, 60_000]);
        let kept: u64 = moves.iter().map(|kept| u64::from(kept.steps)).sum();
        assert_eq!(kept + moves.left_out(), changes);
        let first_half = moves.iter().filter(|kept| kept.at.as_secs() < 50).count();
        assert!(first_half > MOST / 8, "{first_half}");
    }

    #[test]
    fn steps_of_a_climb_become_fewer_before_any_is_lost() {
        let mut moves = Moves::default();
        for turn in 0..1_000_u32 {
            let from = f64::from(turn + 1);
            let change = step(from, from + 1.0, Reason::Starting);
            moves.push(Move::new(Duration::from_millis(turn.into()), change));
        }
        assert_eq!(moves.left_out(), 0);
        let whole: Vec<Move> = runs(moves.iter(), u32::MAX);
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].change, step(1.0, 1_001.0, Reason::Starting));
        assert_eq!(whole[0].steps, 1_000);
    }

    #[test]
    fn what_comes_late_is_in_its_place() {
        let mut moves = Moves::default();
        for millis in [5, 9, 7] {
            let at = Duration::from_millis(millis);
            moves.push(Move::new(at, step(1.0, 2.0, Reason::Starting)));
        }
        let order: Vec<u128> = moves.iter().map(|it| it.at.as_millis()).collect();
        assert_eq!(order, [5, 7, 9]);
    }
}
