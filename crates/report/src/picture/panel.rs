use std::time::Duration;

use crate::counts::Counts;
use crate::history::Span;
use crate::moves::{NO_LIMIT, whole};
use crate::picture::colors;
use crate::picture::curve::{Curve, Form, LINE};

/// Several curves on one scale.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) name: &'static str,
    /// Parts of the height.
    pub(crate) height: f64,
    pub(crate) curves: Vec<Curve>,
    pub(crate) top: f64,
    /// From when until when the limit was between which values, in seconds.
    pub(crate) band: Vec<(f64, f64, f64, f64)>,
}

/// What a picture shows, from the top down.
pub(crate) fn panels(spans: &[Span], first_limit: f64) -> Vec<Panel> {
    let mut panels = vec![
        limit(spans, first_limit),
        throughput(spans),
        failed(spans),
        latency(spans),
    ];
    if spans.iter().any(|span| span.counts().waiting > Some(0)) {
        panels.push(waiting(spans));
    }
    panels
}

fn limit(spans: &[Span], first: f64) -> Panel {
    let curve = |name, color, form, value: fn(&Counts) -> Option<f64>| {
        Curve::new(name, color, form, spans, |span| value(span.counts()))
    };
    let limit = Form::Line { width: 3 };
    let mean = Counts::mean_in_flight;
    let in_flight = curve("in flight", colors::IN_FLIGHT, Form::Area, mean);
    let mut limit = curve("limit", colors::LIMIT, limit, |counts| {
        drawn(counts.state.limit)
    });
    let begin = limit.pieces.iter_mut().flatten().next();
    if let (Some(point), Some(first)) = (begin, drawn(first)) {
        point.1 = first;
    }
    let mut curves = vec![in_flight, limit];
    if spans.iter().any(|span| span.counts().paused) {
        // It is behind all panels; here it has its name.
        curves.push(curve("pause", colors::MUTED, LINE, |_| None));
    }
    let mut panel = Panel::new("Requests at once", 2.2, curves);
    let band = spans.iter().filter_map(|span| {
        let (from, until) = (span.from.as_secs_f64(), span.until.as_secs_f64());
        let (low, high) = (span.counts().least_limit, span.counts().greatest_limit);
        Some((from, until, drawn(low)?, drawn(high)?))
    });
    panel.band = band.collect();
    let greatest = panel.band.iter().map(|(.., high)| 1.04 * high);
    panel.top = greatest.fold(panel.top, f64::max);
    panel
}

/// A limit, where there is one.
fn drawn(limit: f64) -> Option<f64> {
    (whole(limit) < NO_LIMIT).then(|| limit.max(0.0))
}

fn throughput(spans: &[Span]) -> Panel {
    let rate = |name, color, form, count: fn(&Counts) -> u64| {
        Curve::new(name, color, form, spans, |span| {
            Some(per_second(span, count(span.counts())))
        })
    };
    let mut curves = vec![
        rate("succeeded", colors::SUCCESS, Form::Area, |counts| {
            u64::from(counts.successes)
        }),
        rate("overloaded", colors::OVERLOAD, LINE, Counts::overloads),
        rate("failed", colors::FAILURE, LINE, |counts| {
            u64::from(counts.failures)
        }),
    ];
    curves.retain(|curve| curve.name != "failed" || curve.greatest() > 0.0);
    let mut panel = Panel::new("Answers per second", 1.4, curves);
    let pace = Curve::new("pace", colors::PACE, LINE, spans, |span| {
        span.counts().state.pace.filter(|pace| *pace <= panel.top)
    });
    if !pace.pieces.is_empty() {
        panel.curves.push(pace);
    }
    panel
}

fn failed(spans: &[Span]) -> Panel {
    let share = Curve::new("", colors::OVERLOAD, Form::Area, spans, |span| {
        span.counts().failed_share().map(|share| 100.0 * share)
    });
    let mut panel = Panel::new("Overloaded or failed, %", 1.0, vec![share]);
    panel.top = panel.top.clamp(5.0, 100.0);
    panel
}

fn latency(spans: &[Span]) -> Panel {
    let quantile = |name, color, quantile| {
        Curve::new(name, color, LINE, spans, move |span| {
            let latency = span.interval.latency(quantile);
            latency.map(|latency| 1e3 * latency.as_secs_f64())
        })
    };
    let curves = vec![
        quantile("p99", colors::TAIL, 0.99),
        quantile("median", colors::LATENCY, 0.5),
    ];
    Panel::new("Latency of successes, ms", 1.4, curves)
}

fn waiting(spans: &[Span]) -> Panel {
    let waiting = Curve::new("", colors::WAITING, Form::Area, spans, |span| {
        span.counts().waiting.map(f64::from)
    });
    Panel::new("Waiting to be sent", 0.8, vec![waiting])
}

impl Panel {
    fn new(name: &'static str, height: f64, curves: Vec<Curve>) -> Self {
        let greatest = curves.iter().map(Curve::greatest).fold(0.0, f64::max);
        Self {
            name,
            height,
            curves,
            top: if greatest > 0.0 { 1.08 * greatest } else { 1.0 },
            band: Vec::new(),
        }
    }
}

/// A span that has just begun would make any rate of it.
fn per_second(span: &Span, count: u64) -> f64 {
    count as f64 / span.length().max(Duration::from_millis(1)).as_secs_f64()
}
