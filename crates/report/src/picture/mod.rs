//! A run as SVG.

mod colors;
mod curve;
mod draw;
mod ink;
mod layout;
mod marks;
mod panel;
mod plot;

pub(crate) use draw::{Drawing, draw};
pub(crate) use layout::Shape;
pub(crate) use marks::marks;

use crate::history::History;
use crate::span::Span;

/// About how many points a curve has at most: in a stretch as short as can be told from its neighbours
/// there is more chance than news.
const POINTS: u32 = 150;

/// The stretches that a picture shows: of whole intervals, and the last one at least half a stretch.
pub(crate) fn spans(history: &History) -> Vec<Span> {
    let length = history.length();
    let intervals = history.elapsed().div_duration_f64(length).max(1.0);
    let width = length * (intervals / f64::from(POINTS)).ceil() as u32;
    let mut spans = history.spans(width);
    if let [.., before, last] = &mut spans[..]
        && last.length() < width / 2
    {
        before.interval.add(&last.interval);
        before.until = last.until;
        spans.pop();
    }
    spans
}
