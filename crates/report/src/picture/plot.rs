//! The curves of one panel.

use std::time::Duration;

use plotters::prelude::*;

use crate::picture::colors::{self, GRID, MUTED};
use crate::picture::curve::{Curve, Form};
use crate::picture::ink::{Area, Failed, Ink};
use crate::picture::layout::LEFT;
use crate::picture::panel::Panel;
use crate::words;

/// Into an area that begins left of the scale and ends with the run.
pub(crate) fn plot(area: &Area<'_>, panel: &Panel, elapsed: Duration) -> Result<(), Failed> {
    let mut chart = ChartBuilder::on(area)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .build_cartesian_2d(0.0..elapsed.as_secs_f64(), 0.0..panel.top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_labels(4)
        .y_label_formatter(&|value| words::number(*value))
        .label_style(Ink::new(12.0, MUTED).style())
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .draw()?;
    let mut fill = |outline: Vec<(f64, f64)>, color: RGBAColor| {
        chart.draw_series([Polygon::new(outline, color)]).map(drop)
    };
    if !panel.band.is_empty() {
        fill(outline(panel), colors::LIMIT.mix(0.2))?;
    }
    for Curve { color, pieces, .. } in panel.curves.iter().filter(|it| it.form == Form::Area) {
        for piece in pieces {
            let ends = [piece[piece.len() - 1], piece[0]];
            let ground = ends.map(|(time, _)| (time, 0.0));
            fill(
                piece.iter().copied().chain(ground).collect(),
                color.mix(0.28),
            )?;
        }
    }
    for curve in &panel.curves {
        let width = match curve.form {
            Form::Line { width } => width,
            Form::Area => 1,
        };
        let style = curve.color.stroke_width(width);
        let lines = curve.pieces.iter();
        chart.draw_series(lines.map(|piece| PathElement::new(piece.clone(), style)))?;
    }
    Ok(())
}

/// Of the band: along its upper edge and back along its lower one.
fn outline(panel: &Panel) -> Vec<(f64, f64)> {
    let band = &panel.band;
    let upper = band
        .iter()
        .flat_map(|(from, until, _, high)| [(*from, *high), (*until, *high)]);
    let lower = band
        .iter()
        .rev()
        .flat_map(|(from, until, low, _)| [(*until, *low), (*from, *low)]);
    upper.chain(lower).collect()
}
