use clap::Args;

use crate::cli::args::{self, Course, Named};
use crate::cli::row::Total;
use crate::cli::{Failed, print, suite, table};

/// Runs laws on scenarios and prints how good they are.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    course: Course,
    /// Laws, separated by commas.
    #[arg(
        long = "law",
        value_delimiter = ',',
        required = true,
        value_name = "NAME"
    )]
    laws: Vec<String>,
    /// One JSON object a line: each run, then each law with the id "all".
    #[arg(long, conflicts_with = "table")]
    json: bool,
    /// A table for people (the default).
    #[arg(long)]
    table: bool,
}

impl Run {
    pub(crate) fn run(&self) -> Result<(), Failed> {
        let laws = args::laws(&self.laws)?;
        let rows = suite::run(&self.course, &laws)?.rows;
        let total = |law: &Named| Total::of(&law.name, &rows, |_| true);
        let totals: Vec<Total> = laws.iter().map(total).collect();
        if !self.json {
            return print(&table::render(&rows, &totals));
        }
        let mut out = String::new();
        for row in &rows {
            out += &serde_json::to_string(row)?;
            out.push('\n');
        }
        for total in &totals {
            out += &serde_json::to_string(total)?;
            out.push('\n');
        }
        print(&out)
    }
}
