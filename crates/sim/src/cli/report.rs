use std::fs;
use std::path::PathBuf;

use clap::Args;
use tidegate_sim::laws::NAMES;

use crate::cli::args::{self, Course};
use crate::cli::{Failed, golden, print, suite};

/// Writes the golden table: scenarios × laws, as Markdown.
#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    course: Course,
    /// Laws, separated by commas. Default: every law.
    #[arg(long = "law", value_delimiter = ',', value_name = "NAME")]
    laws: Vec<String>,
    /// Where it goes. Default: the standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Report {
    pub(crate) fn run(&self) -> Result<(), Failed> {
        let names = match &self.laws[..] {
            [] => NAMES.map(str::to_owned).to_vec(),
            names => names.to_vec(),
        };
        let laws = args::laws(&names)?;
        let suite = suite::run(&self.course, &laws)?;
        let names: Vec<String> = laws.into_iter().map(|law| law.name).collect();
        let report = golden::render(&suite, &names, &self.course.seeds);
        let Some(path) = &self.out else {
            return print(&report);
        };
        fs::write(path, report).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(())
    }
}
