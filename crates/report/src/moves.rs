use std::mem;
use std::time::Duration;

use tidegate_core::{Change, Reason, Setting};

use crate::runs::runs;

/// How many are kept at most, 150 bytes each.
const MOST: usize = 512;

/// Into how many a run is divided, so that none of them loses all.
const PARTS: u128 = 64;

/// What a pause weighs.
const PAUSE: f64 = 0.4;

/// What another setpoint weighs: an operator wants to see what came of it.
const AIM: f64 = 1.0;

/// One change, or several of the same kind in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Move {
    /// Since the origin: of the first one.
    pub(crate) at: Duration,
    /// From where the first began to where the last ended, and why the largest came.
    pub(crate) change: Change,
    pub(crate) event: Option<Event>,
    /// How many changes it stands for.
    pub(crate) steps: u32,
    /// How much the largest of them matters.
    weight: f64,
}

/// What a change does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// How long the pause is.
    Pause(Duration),
    /// From which share of failures to which.
    Aim(f32, f32),
}

impl Move {
    pub(crate) fn new(at: Duration, change: Change) -> Self {
        Self {
            at,
            change,
            event: None,
            steps: 1,
            weight: weight(&change),
        }
    }

    /// Of the share of failures that a law aims at; nothing else moves.
    pub(crate) fn aim(at: Duration, there: Setting, from: f32, to: f32) -> Self {
        let change = Change {
            from: there,
            to: there,
            reason: Reason::Manual,
        };
        Self {
            event: Some(Event::Aim(from, to)),
            weight: AIM,
            ..Self::new(at, change)
        }
    }

    /// With how long its pause is, if it is one.
    pub(crate) fn pausing(self, pause: Duration) -> Self {
        let pause = Some(pause).filter(|pause| self.pauses() && !pause.is_zero());
        Self {
            event: pause.map(Event::Pause),
            ..self
        }
    }

    /// How much it matters: by how many powers of 2 the limit or the pace moved; a pause as much as a
    /// third more or less, another setpoint as much as twice or half.
    pub(crate) fn weight(&self) -> f64 {
        self.weight.max(weight(&self.change))
    }

    /// Whether a program that uses whole limits would see it.
    pub(crate) fn is_visible(&self) -> bool {
        self.limits() || self.paces() || self.is_event()
    }

    /// Whether it is shown alone: a pause, or another setpoint.
    pub(crate) fn is_event(&self) -> bool {
        self.pauses() || self.aims()
    }

    /// Whether it is another setpoint.
    pub(crate) fn aims(&self) -> bool {
        matches!(self.event, Some(Event::Aim(..)))
    }

    pub(crate) fn limits(&self) -> bool {
        whole(self.change.from.limit) != whole(self.change.to.limit)
    }

    pub(crate) fn paces(&self) -> bool {
        self.change.from.pace != self.change.to.pace
    }

    /// Whether a pause begins or becomes longer.
    pub(crate) fn pauses(&self) -> bool {
        self.change.to.pause_until > self.change.from.pause_until
    }

    /// Whether it lets more through, less, or neither.
    pub(crate) fn direction(&self) -> i8 {
        let ratio = self.ratio();
        i8::from(ratio > 0.0) - i8::from(ratio < 0.0)
    }

    /// By how many powers of 2 the limit moved, or the pace if that moved more.
    pub(crate) fn ratio(&self) -> f64 {
        ratio(&self.change)
    }

    /// The same from where this one began to where a `later` one ended.
    pub(crate) fn ratio_to(&self, later: &Self) -> f64 {
        let (from, to) = (self.change.from, later.change.to);
        let reason = later.change.reason;
        ratio(&Change { from, to, reason })
    }

    /// As one with a `later` one of the same kind that begins where it ends, if neither is shown alone.
    pub(crate) fn followed_by(&self, later: &Self) -> Option<Self> {
        let kind = |it: &Self| (it.direction(), mem::discriminant(&it.change.reason));
        let place = |it: &Setting| (whole(it.limit), it.pace);
        let goes_on = place(&self.change.to) == place(&later.change.from);
        let same = kind(self) == kind(later) && !self.is_event() && !later.is_event();
        (goes_on && same).then(|| {
            let most = if later.weight > self.weight {
                later
            } else {
                self
            };
            Self {
                at: self.at,
                change: Change {
                    from: self.change.from,
                    to: later.change.to,
                    reason: most.change.reason,
                },
                steps: self.steps.saturating_add(later.steps),
                ..*most
            }
        })
    }
}

/// A limit from which on there is none.
pub(crate) const NO_LIMIT: usize = 1_000_000;

/// The floor, which is what a door uses; at most [`NO_LIMIT`].
pub(crate) fn whole(limit: f64) -> usize {
    (limit as usize).clamp(1, NO_LIMIT)
}

fn ratio(change: &Change) -> f64 {
    let Change { from, to, .. } = change;
    // Neither 0, nor without end, nor no number.
    let sane = |limit: f64| limit.max(1.0).min(NO_LIMIT as f64);
    let limit = (sane(to.limit) / sane(from.limit)).log2();
    let pace = match (&from.pace, &to.pace) {
        (Some(from), Some(to)) => (to.rate() / from.rate()).log2(),
        (None, Some(_)) => -1.0,
        (Some(_), None) => 1.0,
        (None, None) => 0.0,
    };
    if pace.abs() > limit.abs() {
        pace
    } else {
        limit
    }
}

fn weight(change: &Change) -> f64 {
    let pause = change.to.pause_until > change.from.pause_until;
    ratio(change).abs().max(if pause { PAUSE } else { 0.0 })
}

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
