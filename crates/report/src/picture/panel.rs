use std::time::Duration;

use crate::counts::Counts;
use crate::limit::{NO_LIMIT, whole};
use crate::picture::colors;
use crate::picture::curve::{Curve, Form, LINE};
use crate::refusals::Refusals;
use crate::span::Span;

/// The greatest value is so far below the top.
const HEADROOM: f64 = 1.08;

/// From so many on, seconds are easier to read.
const MANY_MILLIS: f64 = 5_000.0;

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

/// What a picture shows, from the top down: what there is to see of it.
pub(crate) fn panels(spans: &[Span], first_limit: f64) -> Vec<Panel> {
    let is_heard = spans.is_empty() || spans.iter().any(|span| span.counts().is_heard());
    let mut panels = vec![limit(spans, first_limit)];
    panels.retain(|panel| spans.is_empty() || panel.is_seen());
    if is_heard {
        panels.extend([throughput(spans), failed(spans), latency(spans)]);
    } else {
        panels.push(Panel::new("Most per second", 1.0, vec![pace(spans)]));
    }
    let held_up = [waiting(spans), longest_wait(spans), refused(spans)];
    panels.extend(held_up.into_iter().filter(Panel::is_seen));
    panels.retain(|panel| is_heard || panel.is_seen());
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
    curves.retain(|curve| spans.is_empty() || !curve.pieces.is_empty());
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
    let pace = pace(spans);
    // One that is far above what comes through would make all else small.
    if !pace.pieces.is_empty() && pace.greatest() <= 1.5 * panel.top {
        panel.top = panel.top.max(HEADROOM * pace.greatest());
        panel.curves.push(pace);
    }
    panel
}

fn pace(spans: &[Span]) -> Curve {
    Curve::new("pace", colors::PACE, LINE, spans, |span| {
        span.counts().state.pace
    })
}

fn failed(spans: &[Span]) -> Panel {
    let percent = |name, color, form, share: fn(&Counts) -> Option<f64>| {
        let share = |span: &Span| share(span.counts()).map(|share| 100.0 * share);
        Curve::new(name, color, form, spans, share)
    };
    let share = percent("", colors::OVERLOAD, Form::Area, Counts::failed_share);
    let setpoint = percent("setpoint", colors::PACE, LINE, |it| it.state.setpoint);
    let mut curves = vec![share, setpoint];
    curves.retain(|curve| curve.name.is_empty() || !curve.pieces.is_empty());
    let mut panel = Panel::new("Overloaded or failed, %", 1.0, curves);
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
    let panel = Panel::new("Latency of successes, ms", 1.4, curves);
    panel.in_seconds("Latency of successes, s")
}

fn waiting(spans: &[Span]) -> Panel {
    let waiting = Curve::new("", colors::WAITING, Form::Area, spans, |span| {
        span.counts().waiting.map(f64::from)
    });
    Panel::new("Waiting to be sent", 0.8, vec![waiting])
}

fn longest_wait(spans: &[Span]) -> Panel {
    let longest = Curve::new("", colors::WAITING, Form::Area, spans, |span| {
        let longest = span.counts().longest_wait;
        Some(1e3 * longest.as_secs_f64())
    });
    let panel = Panel::new("Longest wait to be sent, ms", 0.8, vec![longest]);
    panel.in_seconds("Longest wait to be sent, s")
}

/// Named after why, since that is mostly the same all along.
fn refused(spans: &[Span]) -> Panel {
    let mut run = Refusals::default();
    spans
        .iter()
        .for_each(|span| run.add(&span.counts().refusals));
    let refused = Curve::new(
        run.to_string(),
        colors::REFUSED,
        Form::Area,
        spans,
        |span| Some(per_second(span, span.counts().refusals.total())),
    );
    Panel::new("Refused unsent, per second", 0.8, vec![refused])
}

impl Panel {
    fn new(name: &'static str, height: f64, curves: Vec<Curve>) -> Self {
        let greatest = curves.iter().map(Curve::greatest).fold(0.0, f64::max);
        Self {
            name,
            height,
            curves,
            top: if greatest > 0.0 {
                HEADROOM * greatest
            } else {
                1.0
            },
            band: Vec::new(),
        }
    }

    /// Of milliseconds, under another name, if they are many.
    fn in_seconds(mut self, name: &'static str) -> Self {
        if self.top < MANY_MILLIS {
            return self;
        }
        let curves = self.curves.iter_mut();
        let points = curves.flat_map(|curve| curve.pieces.iter_mut().flatten());
        points.for_each(|(_, value)| *value /= 1e3);
        self.top /= 1e3;
        Self { name, ..self }
    }

    /// The curves whose names are to be read.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Curve> {
        self.curves.iter().filter(|curve| !curve.name.is_empty())
    }

    /// Whether any of it is above zero.
    fn is_seen(&self) -> bool {
        let is_above = |curve: &Curve| curve.greatest() > 0.0;
        !self.band.is_empty() || self.curves.iter().any(is_above)
    }
}

/// A span that has just begun would make any rate of it.
fn per_second(span: &Span, count: u64) -> f64 {
    count as f64 / span.length().max(Duration::from_millis(1)).as_secs_f64()
}
