use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use clap::{Args, Parser, Subcommand};
use tidegate_sim::laws::{self, Maker};
use tidegate_sim::{OracleFile, Scenario};

use crate::cli::{Failed, oracle, report, run, trace};

/// A deterministic simulator in virtual time: try a law on a model of your server before you ship it.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run laws on scenarios and print how good they are.
    Run(run::Run),
    /// Draw one run over time.
    Trace(trace::Trace),
    /// Write the golden table: scenarios × laws.
    Report(report::Report),
    /// Print the best that a fixed setting could do.
    Oracle(oracle::Sweep),
}

impl Cli {
    pub(crate) fn run(&self) -> Result<(), Failed> {
        match &self.command {
            Command::Run(run) => run.run(),
            Command::Trace(trace) => trace.run(),
            Command::Report(report) => report.run(),
            Command::Oracle(sweep) => sweep.run(),
        }
    }
}

/// What is run, and the oracle to compare with.
#[derive(Args, Debug)]
pub(crate) struct Course {
    /// Scenarios, as TOML files. Default: the open set.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Seeds, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "SEED")]
    pub(crate) seeds: Vec<u64>,
    /// Keeps the oracles in this file: finding them is most of the work.
    #[arg(long, value_name = "FILE")]
    oracle: Option<PathBuf>,
    /// How many threads work; the output does not depend on it. Default: one per processor.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

impl Course {
    pub(crate) fn scenarios(&self) -> Result<Vec<Scenario>, Failed> {
        if self.files.is_empty() {
            return Ok(tidegate_sim::open_set());
        }
        self.files.iter().map(|file| scenario(file)).collect()
    }

    pub(crate) fn oracles(&self) -> Result<OracleFile, Failed> {
        let Some(path) = &self.oracle else {
            return Ok(OracleFile::default());
        };
        OracleFile::open(path).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    pub(crate) fn threads(&self) -> usize {
        let asked = self
            .threads
            .or_else(|| thread::available_parallelism().ok());
        asked.map_or(1, NonZeroUsize::get)
    }
}

pub(crate) fn scenario(path: &Path) -> Result<Scenario, Failed> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    Scenario::from_toml(&text).map_err(|error| error.file(name.to_string()).into())
}

/// A law and its name.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) maker: Maker,
}

impl Named {
    pub(crate) fn new(name: &str) -> Result<Self, Failed> {
        Ok(Self {
            name: name.to_owned(),
            maker: laws::by_name(name)?,
        })
    }
}

/// Laws by their names, which were separated by commas, as are the settings of one law.
pub(crate) fn laws(pieces: &[String]) -> Result<Vec<Named>, Failed> {
    let mut names: Vec<String> = Vec::new();
    for piece in pieces {
        let is_setting = piece.contains('=') && !piece.contains(':');
        match names.last_mut().filter(|name| name.contains('=')) {
            Some(name) if is_setting => name.extend([",", piece]),
            _ => names.push(piece.clone()),
        }
    }
    names.iter().map(|name| Named::new(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_laws_and_the_settings_of_a_law() {
        let text = "prober,governor:kp=0.1,ki=0,governor:kd=1,fixed:3";
        let pieces: Vec<String> = text.split(',').map(str::to_owned).collect();
        let names = laws(&pieces).map(|laws| laws.into_iter().map(|law| law.name).collect());
        let names: Vec<String> = names.unwrap();
        assert_eq!(
            names,
            ["prober", "governor:kp=0.1,ki=0", "governor:kd=1", "fixed:3"]
        );
    }
}
