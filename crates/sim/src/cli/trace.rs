use std::fs;
use std::path::PathBuf;

use clap::Args;
use tidegate_sim::run;

use crate::cli::args::{self, Named};
use crate::cli::{Failed, chart};

/// Draws one run over time: limit, in flight, goodput, latency.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    /// The scenario, as a TOML file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The law.
    #[arg(long, value_name = "NAME")]
    law: String,
    /// Where the picture goes.
    #[arg(long, value_name = "OUT")]
    svg: PathBuf,
    /// Seed of the run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Trace {
    pub(crate) fn run(&self) -> Result<(), Failed> {
        let scenario = args::scenario(&self.file)?;
        let law = Named::new(&self.law)?;
        let record = run(&scenario, self.seed, &*law.maker);
        let title = format!("{} · {} · seed {}", scenario.id, law.name, self.seed);
        let picture = chart::draw(&title, &record.series)?;
        let failed = |error| format!("{}: {error}", self.svg.display());
        Ok(fs::write(&self.svg, picture).map_err(failed)?)
    }
}
