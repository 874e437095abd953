use std::fs;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail, ensure};
use reqwest::Url;

/// What is fetched, in turn. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Urls {
    urls: Arc<[Url]>,
    default_requests: usize,
}

/// How many requests go to the embedded upstream.
const EMBEDDED_REQUESTS: usize = 10_000;

impl Urls {
    /// The same for all requests.
    pub(crate) fn one(url: &Url) -> Self {
        Self {
            urls: [url.clone()].into(),
            default_requests: EMBEDDED_REQUESTS,
        }
    }

    /// Those of a file, one per line; empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, a line is not a URL that can be fetched, or there is none.
    pub(crate) fn read(path: &str) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| anyhow!("cannot read it: {error}"))?;
        let urls: Arc<[Url]> = text
            .lines()
            .zip(1..)
            .map(|(line, number)| (line.trim(), number))
            .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
            .map(|(line, number)| parse(line).with_context(|| format!("line {number}")))
            .collect::<anyhow::Result<_>>()
            .map_err(|error| anyhow!("{error:#}"))?;
        ensure!(!urls.is_empty(), "there is no URL in it");
        let default_requests = urls.len();
        Ok(Self {
            urls,
            default_requests,
        })
    }

    /// How many requests there are unless it is said.
    pub(crate) fn default_requests(&self) -> usize {
        self.default_requests
    }

    /// Of the request with that index.
    pub(crate) fn of(&self, index: usize) -> &Url {
        &self.urls[index % self.urls.len()]
    }
}

fn parse(text: &str) -> anyhow::Result<Url> {
    let url = Url::parse(text).map_err(|error| anyhow!("{text:?} is not a URL: {error}"))?;
    if !["http", "https"].contains(&url.scheme()) {
        bail!("{text:?} is neither http nor https");
    }
    Ok(url)
}
