use std::time::Duration;

use crate::scenario::{Load, Scenario};
use crate::series::Series;

/// A run between two changes: steps, and the pieces of an open load.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    /// Where each begins; the first at 0.
    pub(crate) starts: Vec<Duration>,
}

/// The least that a window holds.
const WINDOW: f64 = 0.2;
const WINDOW_REQUESTS: f64 = 100.0;

/// How much of the oracle's goodput counts as reached.
const REACHED: f64 = 0.9;

impl Segments {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut starts = vec![Duration::ZERO];
        starts.extend(scenario.steps.iter().map(|step| step.at));
        if let Load::Open { rate, .. } = &scenario.load {
            starts.extend(rate.iter().map(|piece| piece.from));
        }
        starts.retain(|&at| at < scenario.duration);
        starts.sort_unstable();
        starts.dedup();
        Self { starts }
    }

    /// Successes per second in each.
    pub(crate) fn goodput(&self, series: &Series) -> Vec<f64> {
        let ticks = |from: usize, to: usize| (to - from) as f64 * series.tick.as_secs_f64();
        (0..self.starts.len())
            .map(|index| {
                let (from, to) = self.pieces(index, series);
                let count: u32 = series.points[from..to].iter().map(|p| p.successes).sum();
                f64::from(count) / ticks(from, to.max(from + 1))
            })
            .collect()
    }

    /// How long after the beginning of a segment a window first holds nearly the goodput `target`.
    pub(crate) fn reached(&self, index: usize, series: &Series, target: f64) -> Option<f64> {
        let tick = series.tick.as_secs_f64();
        let window = WINDOW.max(WINDOW_REQUESTS / target);
        let width = (window / tick).ceil() as usize;
        let need = REACHED * target * width as f64 * tick;
        let (from, to) = self.pieces(index, series);
        let points = &series.points[from..to];
        let mut held = 0.0;
        for (end, point) in points.iter().enumerate() {
            held += f64::from(point.successes);
            if end >= width {
                held -= f64::from(points[end - width].successes);
            }
            if end + 1 >= width && held >= need {
                return Some((end + 1) as f64 * tick);
            }
        }
        None
    }

    fn pieces(&self, index: usize, series: &Series) -> (usize, usize) {
        let piece = |at: Duration| {
            let pieces = (at.as_nanos() / series.tick.as_nanos()) as usize;
            pieces.min(series.points.len())
        };
        let end = self.starts.get(index + 1).copied();
        let to = end.map_or(series.points.len(), piece);
        (piece(self.starts[index]).min(to), to)
    }
}
