//! What is written and drawn again and again.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::picture::colors::PAPER;
use crate::picture::marks::Mark;

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(crate) type Failed = DrawingAreaErrorKind<std::io::Error>;

/// Of a number in a circle, in pixels.
pub(crate) const RADIUS: i32 = 9;

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ink {
    size: f64,
    color: RGBColor,
    bold: bool,
}

impl Ink {
    /// In pixels.
    pub(crate) fn new(size: f64, color: RGBColor) -> Self {
        Self {
            size,
            color,
            bold: false,
        }
    }

    pub(crate) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// From its upper left corner on.
    pub(crate) fn say(self, area: &Area<'_>, what: &str, place: (i32, i32)) -> Result<(), Failed> {
        area.draw(&Text::new(what.to_owned(), place, self.style()))
    }

    /// With the middle of its `edge` there.
    pub(crate) fn center(
        self,
        area: &Area<'_>,
        what: &str,
        place: (i32, i32),
        edge: VPos,
    ) -> Result<(), Failed> {
        let style = self.style().pos(Pos::new(HPos::Center, edge));
        area.draw(&Text::new(what.to_owned(), place, style))
    }

    /// A pixel of text is less for CSS than for the crate, which divides by as much.
    pub(crate) fn style(self) -> TextStyle<'static> {
        let weight = if self.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = ("system-ui, sans-serif", 1.24 * self.size, weight);
        TextStyle {
            color: self.color.to_backend_color(),
            ..font.into()
        }
    }
}

/// A number in a circle.
pub(crate) fn badge(area: &Area<'_>, mark: &Mark, place: (i32, i32)) -> Result<(), Failed> {
    area.draw(&Circle::new(place, RADIUS, mark.color().filled()))?;
    let size = if mark.number < 10 { 12.0 } else { 11.0 };
    let ink = Ink::new(size, PAPER).bold();
    ink.center(area, &mark.number.to_string(), place, VPos::Center)
}

/// How wide a text is, about, with characters that are so wide on average.
pub(crate) fn wide(text: &str, character: f64) -> i32 {
    let part = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | '(' | ')' | '/' => 0.62,
        'm' | 'w' | 'M' | 'W' | '→' | '↑' | '↓' | '%' => 1.5,
        _ => 1.08,
    };
    (character * text.chars().map(part).sum::<f64>()) as i32
}
