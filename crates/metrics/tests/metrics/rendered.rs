//! A real recorder, and what it renders.

use metrics::LocalRecorderGuard;
use metrics::set_default_local_recorder;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tidegate_metrics::SECONDS;

/// In force on this thread.
pub(crate) struct Recorded {
    handle: PrometheusHandle,
    _in_force: LocalRecorderGuard<'static>,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let builder = PrometheusBuilder::new().with_recommended_naming(true);
        let recorder = builder.set_buckets(&SECONDS).unwrap().build_recorder();
        let handle = recorder.handle();
        // A test is a process's short life.
        let recorder: &'static PrometheusRecorder = Box::leak(Box::new(recorder));
        Self {
            handle,
            _in_force: set_default_local_recorder(recorder),
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let rendered = self.handle.render();
        rendered.lines().map(str::to_owned).collect()
    }

    /// The value of the one series of that name that has all these labels, and no others but `le`.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.find(name, labels)
            .unwrap_or_else(|| panic!("{name} {labels:?} in {:#?}", self.lines()))
    }

    pub(crate) fn find(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        labels.sort();
        let lines = self.lines();
        let mut found = lines.iter().filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (of, rest) = series.split_once('{')?;
            let mut of_line: Vec<_> = rest
                .strip_suffix('}')?
                .split("\",")
                .map(|label| format!("{}\"", label.trim_end_matches('"')))
                .collect();
            of_line.sort();
            (of == name && of_line == labels).then(|| value.parse().unwrap())
        });
        let first = found.next();
        assert!(found.next().is_none(), "two of {name}");
        first
    }

    /// The sum over all series of that name.
    pub(crate) fn total(&self, name: &str) -> f64 {
        let start = format!("{name}{{");
        let lines = self.lines();
        let of_name = lines.iter().filter(|line| line.starts_with(&start));
        of_name
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum()
    }

    /// The values that a label has, each once.
    pub(crate) fn values_of(&self, label: &str) -> Vec<String> {
        let start = format!("{label}=\"");
        let mut values: Vec<String> = self
            .lines()
            .iter()
            .filter_map(|line| {
                let (_, rest) = line.split_once(&start)?;
                Some(rest.split('"').next()?.to_owned())
            })
            .collect();
        values.sort();
        values.dedup();
        values
    }
}
