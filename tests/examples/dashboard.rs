//! A Grafana dashboard, as far as its queries go.

#![cfg(unix)]

use std::fs;

use serde_json::Value;

use crate::exposition::Exposition;

pub(crate) struct Dashboard {
    pub(crate) queries: Vec<Query>,
    pub(crate) data_sources: Vec<String>,
    pub(crate) variables: Vec<String>,
}

/// A query, and the labels that its legend shows.
#[derive(Debug)]
pub(crate) struct Query {
    tokens: Vec<String>,
    legend: Vec<String>,
}

/// All that a query here may say beside names of metrics and labels.
const FUNCTIONS: [&str; 6] = [
    "sum",
    "rate",
    "histogram_quantile",
    "label_values",
    "by",
    "max",
];

/// Labels that begin as a metric does.
const LABELS: [&str; 4] = [
    "tidegate_stack",
    "tidegate_key",
    "tidegate_reason",
    "tidegate_outcome",
];

impl Dashboard {
    pub(crate) fn read() -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/grafana/tidegate.json");
        let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut this = Self {
            queries: Vec::new(),
            data_sources: Vec::new(),
            variables: Vec::new(),
        };
        this.visit(&json);
        let list = json["templating"]["list"].as_array().unwrap();
        this.variables = list.iter().map(|it| text(&it["name"])).collect();
        this
    }

    fn visit(&mut self, json: &Value) {
        if let Some(uid) = json.pointer("/datasource/uid") {
            self.data_sources.push(text(uid));
        }
        if let Some(expr) = json.get("expr").or_else(|| json.get("definition")) {
            self.queries.push(Query {
                tokens: tokens(&text(expr)),
                legend: labels_of(json["legendFormat"].as_str().unwrap_or_default()),
            });
        }
        let (list, map) = (json.as_array(), json.as_object());
        list.into_iter().flatten().for_each(|it| self.visit(it));
        map.into_iter().flatten().for_each(|(_, it)| self.visit(it));
    }
}

impl Query {
    /// Whether each metric is shown, and has each label that is asked of it.
    pub(crate) fn check(&self, shown: &Exposition) -> Result<(), String> {
        let metrics: Vec<&str> = self.metrics().collect();
        if metrics.is_empty() {
            return Err("no metric".to_owned());
        }
        if let Some(missing) = metrics.iter().find(|metric| !shown.has(metric)) {
            return Err(format!("no metric {missing}"));
        }
        let labels = self.names().filter(|name| !metrics.contains(name));
        let labels = labels.chain(self.legend.iter().map(String::as_str));
        for label in labels {
            if !metrics.iter().all(|metric| shown.has_label(metric, label)) {
                return Err(format!("no label {label}"));
            }
        }
        Ok(())
    }

    /// Names of metrics: those of ours and that of the semantic conventions.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &str> {
        self.names().filter(|name| {
            let is_ours = name.starts_with("tidegate_") || name.starts_with("http_client_");
            is_ours && !LABELS.contains(name)
        })
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.tokens.iter().map(String::as_str);
        names.filter(|token| {
            token.starts_with(|c: char| c.is_ascii_alphabetic()) && !FUNCTIONS.contains(token)
        })
    }
}

/// Names, numbers and signs; a string and a range are one each.
fn tokens(query: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = query.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => 2 + rest[1..].find('"').expect("a string ends"),
            '[' => 1 + rest.find(']').expect("a range ends"),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
                rest.find(|c| !is_part(c)).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// `{{label}}`.
fn labels_of(legend: &str) -> Vec<String> {
    let parts = legend.split("{{").skip(1);
    parts
        .map(|part| {
            part.split("}}")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

fn text(json: &Value) -> String {
    json.as_str().expect("a text").to_owned()
}
