//! A series as a picture of four panels.

use plotters::coord::Shift;
use plotters::prelude::*;
use tidegate_sim::{Point, Series};

use crate::cli::Failed;

const SIZE: (u32, u32) = (960, 960);

/// About how many points a curve has at most: more than one a pixel are not seen.
const POINTS: usize = 480;

/// Room above the curves, for the legend.
const HEADROOM: f64 = 1.6;

const GREY: RGBColor = RGBColor(110, 110, 110);
const TEAL: RGBColor = RGBColor(0, 128, 128);
const ORANGE: RGBColor = RGBColor(216, 104, 24);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One curve of a panel.
struct Curve {
    name: &'static str,
    color: RGBColor,
    points: Vec<(f64, f64)>,
}

/// The picture, as SVG.
pub(crate) fn draw(title: &str, series: &Series) -> Result<String, Failed> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let area = area.titled(title, ("sans-serif", 20))?;
        let panels = curves(series);
        for ((panel, what), curves) in area
            .split_evenly((4, 1))
            .iter()
            .zip(["requests", "per second", "overloaded, %", "latency, ms"])
            .zip(&panels)
        {
            draw_panel(panel, what, curves)?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// Limit and in flight; goodput and overloads; the share of overloads; latency.
fn curves(series: &Series) -> [Vec<Curve>; 4] {
    let width = series.points.len().div_ceil(POINTS).max(1);
    let bins: Vec<&[Point]> = series.points.chunks(width).collect();
    let tick = series.tick.as_secs_f64();
    let curve = |name, color, value: &dyn Fn(&[Point]) -> Option<f64>| {
        let at = |(index, bin): (usize, &&[Point])| {
            value(bin).map(|value| ((index * width) as f64 * tick, value))
        };
        let points = bins.iter().enumerate().filter_map(at).collect();
        Curve {
            name,
            color,
            points,
        }
    };
    let mean = |bin: &[Point], of: fn(&Point) -> f64| {
        Some(bin.iter().map(of).sum::<f64>() / bin.len() as f64)
    };
    let per_second = |bin: &[Point], of: fn(&Point) -> u32| {
        let count: u32 = bin.iter().map(of).sum();
        Some(f64::from(count) / (bin.len() as f64 * tick))
    };
    let share = |bin: &[Point]| {
        let overloads: u32 = bin.iter().map(|point| point.overloads).sum();
        let successes: u32 = bin.iter().map(|point| point.successes).sum();
        let answers = overloads + successes;
        (answers > 0).then(|| 100.0 * f64::from(overloads) / f64::from(answers))
    };
    let latency = |bin: &[Point]| {
        let count: u32 = bin.iter().map(|point| point.successes).sum();
        let sum: f64 = bin.iter().map(|point| point.latency_sum).sum();
        (count > 0).then(|| 1e3 * sum / f64::from(count))
    };
    [
        vec![
            curve("in flight", ORANGE, &|bin| {
                mean(bin, |p| p.in_flight as f64)
            }),
            curve("limit", TEAL, &|bin| mean(bin, |p| p.limit as f64)),
        ],
        vec![
            curve("overloads", ORANGE, &|bin| per_second(bin, |p| p.overloads)),
            curve("goodput", TEAL, &|bin| per_second(bin, |p| p.successes)),
        ],
        vec![curve("overloaded", ORANGE, &share)],
        vec![curve("latency", TEAL, &latency)],
    ]
}

fn draw_panel(area: &Area<'_>, what: &str, curves: &[Curve]) -> Result<(), Failed> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let end = points().map(|point| point.0).fold(1e-3, f64::max);
    let top = points().map(|point| point.1).fold(1e-3, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..HEADROOM * top)?;
    chart
        .configure_mesh()
        .max_light_lines(1)
        .light_line_style(WHITE)
        .x_desc("seconds")
        .y_desc(what)
        .draw()?;
    for Curve {
        name,
        color,
        points,
    } in curves
    {
        let color = *color;
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(GREY)
        .draw()?;
    Ok(())
}
