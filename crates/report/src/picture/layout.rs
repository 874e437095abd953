use std::time::Duration;

use crate::picture::ink::wide;
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
const NAME: i32 = 30;
/// More of it, where the names of the curves need a row of their own.
const NAMES: i32 = 18;
/// Below each panel.
pub(crate) const GAP: i32 = 8;
/// The row of numbers.
pub(crate) const MARKS: i32 = 24;
/// The times below.
pub(crate) const AXIS: i32 = 26;
/// The color of a curve, before its name.
pub(crate) const SWATCH: i32 = 17;
/// A reason.
pub(crate) const LINE: i32 = 20;
/// The title, and each line of the summary below it.
const TITLE: i32 = 39;
pub(crate) const SUMMARY: i32 = 19;

impl Layout {
    /// With so many lines of summary, if it is alone.
    pub(crate) fn new(
        shape: Shape,
        elapsed: Duration,
        lines: usize,
        panels: &[Panel],
        marks: &[Mark],
    ) -> Self {
        let head = if shape.alone {
            TITLE + SUMMARY * i32::try_from(lines).unwrap_or(0)
        } else {
            0
        };
        let first = panels.first().map_or(NAME, |panel| above(shape, panel));
        let top = head + first + MARKS;
        let curves: i32 = panels
            .iter()
            .map(|panel| above(shape, panel) + height(shape, panel) + GAP)
            .sum();
        let bottom = top + curves - first - GAP;
        let reasons: i32 = marks.iter().map(|_| LINE).sum();
        let reasons = match reasons {
            reasons if shape.alone && reasons > 0 => reasons + 2 * GAP,
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

/// Of a panel's name and those of its curves.
pub(crate) fn above(shape: Shape, panel: &Panel) -> i32 {
    if are_beside(shape, panel) {
        NAME
    } else {
        NAME + NAMES
    }
}

/// Whether the names of the curves stand beside that of the panel, rather than below it.
pub(crate) fn are_beside(shape: Shape, panel: &Panel) -> bool {
    let names = panel.named().map(|curve| legend(&curve.name)).sum::<i32>();
    LEFT + heading(panel.name) + names <= shape.width - RIGHT
}

/// How wide a panel's name is, with the room after it.
pub(crate) fn heading(name: &str) -> i32 {
    wide(name, 8.1) + 16
}

/// How wide a curve's name is, with its color and the room after it.
pub(crate) fn legend(name: &str) -> i32 {
    SWATCH + wide(name, 6.6) + 14
}
