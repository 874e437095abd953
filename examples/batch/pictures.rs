use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tidegate::Report;

use crate::strategy::Strategy;

/// Where the pictures of a run go: with several strategies, each into a file of its own.
#[derive(Debug)]
pub(crate) struct Pictures<'a> {
    pub(crate) html: Option<&'a Path>,
    pub(crate) svg: Option<&'a Path>,
    pub(crate) several: bool,
}

impl Pictures<'_> {
    /// Draws what was asked for, and says where it is.
    pub(crate) fn draw(&self, strategy: Strategy, report: &Report) -> anyhow::Result<Vec<PathBuf>> {
        let html = self.html.map(|file| (file, report.html()));
        let svg = self.svg.map(|file| (file, report.svg()));
        let drawn = html.into_iter().chain(svg).map(|(file, text)| {
            let file = self.file(file, strategy);
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            Ok(file)
        });
        drawn.collect()
    }

    pub(crate) fn any(&self) -> bool {
        self.html.is_some() || self.svg.is_some()
    }

    /// `run.html` is `run-gate.html` for one of several.
    fn file(&self, file: &Path, strategy: Strategy) -> PathBuf {
        if !self.several {
            return file.to_owned();
        }
        let mut name = file.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{strategy}"));
        let mut named = file.with_file_name(name);
        if let Some(extension) = file.extension() {
            named.set_extension(extension);
        }
        named
    }
}
