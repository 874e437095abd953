use clap::Args;

use crate::cli::args::Course;
use crate::cli::{Failed, print};

/// Prints the best that a fixed setting could do.
#[derive(Args, Debug)]
pub(crate) struct Sweep {
    #[command(flatten)]
    course: Course,
}

impl Sweep {
    pub(crate) fn run(&self) -> Result<(), Failed> {
        let scenarios = self.course.scenarios()?;
        let mut oracles = self.course.oracles()?;
        for scenario in &scenarios {
            for &seed in &self.course.seeds {
                let found = oracles.get(scenario, seed, self.course.threads());
                let line = format!(
                    "{:<8} seed {seed}  {:>8.1}/s ({})  {:>6.1} ms ({})\n",
                    scenario.id,
                    found.goodput,
                    found.best,
                    1e3 * found.latency,
                    found.calm
                );
                print(&line)?;
            }
        }
        oracles.save()?;
        Ok(())
    }
}
