//! Handles of the recorder that is in force: none of them is looked up when a request comes.

use metrics::{Counter, Gauge, Histogram, Label};

pub(crate) fn counter(
    name: &'static str,
    labels: &[Label],
    one: Option<(&'static str, &'static str)>,
) -> Counter {
    let one = one.map(|(name, value)| Label::from_static_parts(name, value));
    let labels: Vec<Label> = labels.iter().cloned().chain(one).collect();
    metrics::counter!(name, labels)
}

pub(crate) fn gauge(name: &'static str, labels: &[Label]) -> Gauge {
    metrics::gauge!(name, labels.to_vec())
}

pub(crate) fn histogram(name: &'static str, labels: &[Label]) -> Histogram {
    metrics::histogram!(name, labels.to_vec())
}
