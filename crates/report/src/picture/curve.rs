use plotters::style::RGBColor;

use crate::span::Span;

/// A value over time, in seconds; in several pieces where there was none in between.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) color: RGBColor,
    pub(crate) form: Form,
    pub(crate) pieces: Vec<Vec<(f64, f64)>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// Pixels wide.
    Line { width: u32 },
    /// Filled down to zero.
    Area,
}

pub(crate) const LINE: Form = Form::Line { width: 2 };

impl Curve {
    /// What `value` says of each span, at its middle.
    pub(crate) fn new(
        name: impl Into<String>,
        color: RGBColor,
        form: Form,
        spans: &[Span],
        value: impl Fn(&Span) -> Option<f64>,
    ) -> Self {
        let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
        let valued: Vec<(&Span, Option<f64>)> =
            spans.iter().map(|span| (span, value(span))).collect();
        for piece in valued.split(|(_, value)| value.is_none()) {
            let at = |(span, value): &(&Span, Option<f64>)| {
                let middle = (span.from + span.until) / 2;
                value.map(|value| (middle.as_secs_f64(), value))
            };
            let mut points: Vec<(f64, f64)> = piece.iter().filter_map(at).collect();
            // As wide as what it says: one alone is seen, and the first begins at the start.
            if let (Some((first, _)), Some((last, _))) = (piece.first(), piece.last()) {
                let (begin, end) = (points[0].1, points[points.len() - 1].1);
                points.insert(0, (first.from.as_secs_f64(), begin));
                points.push((last.until.as_secs_f64(), end));
                pieces.push(points);
            }
        }
        Self {
            name: name.into(),
            color,
            form,
            pieces,
        }
    }

    pub(crate) fn greatest(&self) -> f64 {
        let values = self.pieces.iter().flatten().map(|(_, value)| *value);
        values.fold(0.0, f64::max)
    }
}
