use clap::Args;

use crate::cli::args::{Course, Named};
use crate::cli::row::{Row, Total};
use crate::cli::{Failed, suite, table};

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
        let laws = self.laws.iter().map(|name| Named::new(name));
        let laws = laws.collect::<Result<Vec<_>, _>>()?;
        let rows = suite::rows(&self.course, &laws)?;
        let total = |law: &Named| {
            let rows: Vec<&Row> = rows.iter().filter(|row| row.law == law.name).collect();
            Total::of(&law.name, &rows)
        };
        let totals: Vec<Total> = laws.iter().map(total).collect();
        if !self.json {
            print!("{}", table::render(&rows, &totals));
            return Ok(());
        }
        for row in &rows {
            println!("{}", serde_json::to_string(row)?);
        }
        for total in &totals {
            println!("{}", serde_json::to_string(total)?);
        }
        Ok(())
    }
}
