//! Prometheus' text format, as far as an exporter writes it.

#![cfg(unix)]

use std::collections::{BTreeMap, HashMap};

/// What a scrape has shown.
#[derive(Debug)]
pub(crate) struct Exposition {
    /// By the name that `# TYPE` says.
    pub(crate) families: HashMap<String, Family>,
    samples: HashMap<String, Vec<(Labels, f64)>>,
}

#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) kind: String,
    pub(crate) help: String,
}

type Labels = BTreeMap<String, String>;

impl Exposition {
    pub(crate) fn parse(text: &str) -> Self {
        let mut this = Self {
            families: HashMap::new(),
            samples: HashMap::new(),
        };
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                let family = this.families.entry(name.to_owned()).or_default();
                help.clone_into(&mut family.help);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                let family = this.families.entry(name.to_owned()).or_default();
                kind.clone_into(&mut family.kind);
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let (name, labels) = series.split_once('{').unwrap();
                let sample = (labels_of(labels), value.parse().unwrap());
                this.samples
                    .entry(name.to_owned())
                    .or_default()
                    .push(sample);
            }
        }
        this
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.samples.contains_key(name)
    }

    /// Whether a series of that name has the label.
    pub(crate) fn has_label(&self, name: &str, label: &str) -> bool {
        let samples = self.samples.get(name).into_iter().flatten();
        samples
            .clone()
            .any(|(labels, _)| labels.contains_key(label))
    }

    /// The sum over those of that name that have all these labels.
    #[track_caller]
    pub(crate) fn sum(&self, name: &str, having: &[(&str, &str)]) -> f64 {
        let samples = self
            .samples
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not shown"));
        let matching = samples.iter().filter(|(labels, _)| {
            let mut having = having.iter();
            having.all(|(label, value)| labels.get(*label).is_some_and(|known| known == value))
        });
        matching.map(|(_, value)| value).sum()
    }
}

/// `a="b",c="d"}`, where no value has a quote.
fn labels_of(text: &str) -> Labels {
    let text = text.strip_suffix("\"}").unwrap();
    let labels = text
        .split("\",")
        .map(|label| label.split_once("=\"").unwrap());
    labels
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
