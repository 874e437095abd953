use std::mem;
use std::time::Duration;

use tidegate_core::{Change, Reason, Setting};

use crate::limit::{NO_LIMIT, whole};

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
