use std::time::Duration;

use crate::picture::marks::Mark;
use crate::picture::panel::Panel;

/// How much of a picture there is, and for which width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Pixels.
    pub(crate) width: i32,
    /// Pixels of one part of a panel's height.
    pub(crate) part: f64,
    /// Whether it says by itself what it is, and why which move came.
    pub(crate) alone: bool,
}

/// What is where, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    elapsed: Duration,
    /// Of the first panel's name.
    pub(crate) head: i32,
    /// Of the first curve, and of the time below the last.
    pub(crate) top: i32,
    pub(crate) bottom: i32,
    pub(crate) height: i32,
}

pub(crate) const LEFT: i32 = 52;
pub(crate) const RIGHT: i32 = 14;
/// Above each panel.
pub(crate) const NAME: i32 = 30;
/// Below each panel.
pub(crate) const GAP: i32 = 8;
/// The row of numbers.
pub(crate) const MARKS: i32 = 24;
/// The times below.
pub(crate) const AXIS: i32 = 26;
/// A reason.
pub(crate) const LINE: i32 = 20;
/// Title and summary.
const HEAD: i32 = 58;

impl Layout {
    pub(crate) fn new(shape: Shape, elapsed: Duration, panels: &[Panel], marks: &[Mark]) -> Self {
        let head = if shape.alone { HEAD } else { 0 };
        let top = head + NAME + MARKS;
        let curves: i32 = panels
            .iter()
            .map(|panel| height(shape, panel) + GAP + NAME)
            .sum();
        let bottom = top + curves - GAP - NAME;
        let lines: i32 = marks.iter().map(|_| LINE).sum();
        let reasons = match lines {
            lines if shape.alone && lines > 0 => lines + 2 * GAP,
            _ => 0,
        };
        Self {
            shape,
            elapsed,
            head,
            top,
            bottom,
            height: bottom + AXIS + reasons,
        }
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        (
            self.shape.width.cast_unsigned(),
            self.height.cast_unsigned(),
        )
    }

    /// From the left to the right end of the curves.
    pub(crate) fn width(&self) -> i32 {
        self.shape.width - LEFT - RIGHT
    }

    /// Of a moment.
    pub(crate) fn x(&self, at: Duration) -> i32 {
        LEFT + (f64::from(self.width()) * at.div_duration_f64(self.elapsed)) as i32
    }
}

pub(crate) fn height(shape: Shape, panel: &Panel) -> i32 {
    (panel.height * shape.part) as i32
}
