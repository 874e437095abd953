use std::fmt::Write;
use std::time::Duration;

use plotters::prelude::*;
use plotters::style::text_anchor::VPos;
use tidegate_core::text::tame;

use crate::history::History;
use crate::picture::colors::{self, GRID, INK, MUTED, PAPER};
use crate::picture::ink::{Area, Failed, Ink, RADIUS, badge, wide};
use crate::picture::layout::{
    AXIS, GAP, LEFT, LINE, Layout, MARKS, RIGHT, SUMMARY, SWATCH, Shape, above, are_beside,
    heading, height, legend,
};
use crate::picture::marks::{Mark, marks};
use crate::picture::panel::{Panel, panels};
use crate::picture::plot::plot;
use crate::picture::spans;
use crate::span::Span;
use crate::{text, time, words};

/// SVG, and where in it the time runs, in parts of its width.
#[derive(Clone, Debug)]
pub(crate) struct Drawing {
    pub(crate) svg: String,
    pub(crate) left: f64,
    pub(crate) right: f64,
}

/// How many pixels a time needs on the axis.
const TICK: i32 = 80;

/// How many characters of a line of the summary stand in a picture.
const SUMMARIZED: usize = 130;

/// How wide a character of a reason is, about.
const CHARACTER: i32 = 7;

pub(crate) fn draw(history: &History, title: Option<&str>, shape: Shape) -> Drawing {
    let spans = spans(history);
    let panels = panels(&spans, history.first_limit());
    let marks = marks(history);
    let elapsed = history.elapsed().max(Duration::from_millis(1));
    let summary = words::summaries(history);
    let plan = Plan {
        layout: Layout::new(shape, elapsed, summary.len(), &panels, &marks),
        elapsed,
        marks,
        panels,
        spans,
        title: title.unwrap_or("A run").to_owned(),
        summary,
    };
    let mut svg = String::new();
    plan.paint(&mut svg).expect("writing to memory succeeds");
    Drawing {
        svg: plan.dress(&svg),
        left: f64::from(LEFT) / f64::from(shape.width),
        right: f64::from(shape.width - RIGHT) / f64::from(shape.width),
    }
}

struct Plan {
    layout: Layout,
    elapsed: Duration,
    spans: Vec<Span>,
    panels: Vec<Panel>,
    marks: Vec<Mark>,
    title: String,
    /// In lines.
    summary: Vec<String>,
}

impl Plan {
    fn paint(&self, svg: &mut String) -> Result<(), Failed> {
        let Layout { shape, head, .. } = self.layout;
        let area = SVGBackend::with_string(svg, self.layout.size()).into_drawing_area();
        area.fill(&PAPER)?;
        if shape.alone {
            let title = Ink::new(19.0, INK).bold();
            title.say(&area, &self.title, (LEFT, 14))?;
            for (y, line) in (38..).step_by(SUMMARY as usize).zip(&self.summary) {
                let line = tame(line, SUMMARIZED);
                Ink::new(13.0, MUTED).say(&area, &line, (LEFT, y))?;
            }
        }
        self.ticks(&area)?;
        self.pauses(&area)?;
        let mut top = head;
        for (index, panel) in self.panels.iter().enumerate() {
            name(&area, panel, shape, top)?;
            top += above(shape, panel) + if index == 0 { MARKS } else { 0 };
            let height = height(shape, panel);
            let size = (shape.width - RIGHT, height);
            let place = area.clone().shrink((0, top), size);
            plot(&place, panel, self.elapsed)?;
            top += height + GAP;
        }
        self.marks(&area)?;
        if shape.alone {
            self.reasons(&area)?;
        }
        area.present()
    }

    /// Lines through all panels, and the time below.
    fn ticks(&self, area: &Area<'_>) -> Result<(), Failed> {
        let Layout { top, bottom, .. } = self.layout;
        let ticks = (self.layout.width() / TICK).cast_unsigned();
        let width = time::round(self.elapsed / ticks);
        let mut at = Duration::ZERO;
        while at <= self.elapsed {
            let x = self.layout.x(at);
            area.draw(&PathElement::new([(x, top), (x, bottom)], GRID))?;
            let said = time::tick(at, width, self.elapsed);
            let ink = Ink::new(12.0, MUTED);
            let middle = x.min(self.layout.shape.width - TICK / 3);
            ink.center(area, &said, (middle, bottom + GAP), VPos::Top)?;
            at += width;
        }
        Ok(())
    }

    fn pauses(&self, area: &Area<'_>) -> Result<(), Failed> {
        let Layout { top, bottom, .. } = self.layout;
        for span in self.spans.iter().filter(|span| span.counts().paused) {
            let [left, right] = [span.from, span.until].map(|at| self.layout.x(at));
            let corners = [(left, top), (right, bottom)];
            area.draw(&Rectangle::new(corners, MUTED.mix(0.16).filled()))?;
        }
        Ok(())
    }

    /// A number above each move that matters, and a line down through all panels.
    fn marks(&self, area: &Area<'_>) -> Result<(), Failed> {
        for mark in &self.marks {
            let (x, y) = self.place(mark);
            let line = [(x, y + RADIUS), (x, self.layout.bottom)];
            area.draw(&PathElement::new(line, mark.color().mix(0.45)))?;
            badge(area, mark, (x, y))?;
        }
        Ok(())
    }

    fn place(&self, mark: &Mark) -> (i32, i32) {
        (self.layout.x(mark.it.at), self.layout.top - MARKS / 2)
    }

    /// Below.
    fn reasons(&self, area: &Area<'_>) -> Result<(), Failed> {
        let mut y = self.layout.bottom + AXIS + GAP;
        let adjusted = self.marks.iter().map(|mark| words::adjusted(&mark.it));
        let widest = adjusted.map(|it| wide(&it, 7.4)).max().unwrap_or(0);
        let x = LEFT + 82 + widest + 16;
        let room = (self.layout.shape.width - x) / CHARACTER;
        for mark in &self.marks {
            badge(area, mark, (LEFT, y + LINE / 2 - 4))?;
            let at = time::words(mark.it.at);
            let why = tame(&words::why(&mark.it), room.max(1) as usize);
            let what = Ink::new(12.0, mark.color()).bold();
            Ink::new(12.0, MUTED).say(area, &at, (LEFT + 20, y))?;
            what.say(area, &words::adjusted(&mark.it), (LEFT + 82, y))?;
            Ink::new(12.0, INK).say(area, &why, (x, y))?;
            y += LINE;
        }
        Ok(())
    }

    /// With a name, colors for the dark, and what a pointer is told at the numbers.
    fn dress(&self, svg: &str) -> String {
        let name = text::escape(&format!("{}: {}", self.title, self.summary.join("; ")));
        let open = svg.find('>').map_or(0, |end| end + 1);
        let (head, body) = svg.split_at(open);
        let head = head.replacen("<svg ", "<svg role=\"img\" ", 1);
        let body = body.trim_end().trim_end_matches("</svg>");
        let dark = colors::dark();
        let mut dressed = format!("{head}\n<title>{name}</title>\n<style>{dark}</style>\n{body}");
        for mark in &self.marks {
            let (x, y) = self.place(mark);
            let (what, why) = (words::adjusted(&mark.it), words::why(&mark.it));
            let said = format!("{}: {what}: {why}", time::words(mark.it.at));
            let _ = writeln!(
                dressed,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"12\" fill-opacity=\"0\"><title>{}</title></circle>",
                text::escape(&said)
            );
        }
        dressed + "</svg>\n"
    }
}

/// What a panel shows, and which curve is what.
fn name(area: &Area<'_>, panel: &Panel, shape: Shape, top: i32) -> Result<(), Failed> {
    let (mut x, mut y) = (LEFT, top + 12);
    Ink::new(13.0, INK).bold().say(area, panel.name, (x, y))?;
    if are_beside(shape, panel) {
        x += heading(panel.name);
    } else {
        y = top + above(shape, panel) - 18;
    }
    for curve in panel.named() {
        let swatch = [(x, y + 3), (x + 12, y + 7)];
        area.draw(&Rectangle::new(swatch, curve.color.filled()))?;
        let room = (shape.width - RIGHT - x - SWATCH) / 7;
        let said = tame(&curve.name, usize::try_from(room).unwrap_or(0));
        Ink::new(12.0, MUTED).say(area, &said, (x + SWATCH, y))?;
        x += legend(&curve.name);
    }
    Ok(())
}
