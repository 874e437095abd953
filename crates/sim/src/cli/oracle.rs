use clap::Args;

use crate::cli::Failed;
use crate::cli::args::Course;

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
                println!(
                    "{:<8} seed {seed}  {:>8.1}/s ({})  {:>6.1} ms ({})",
                    scenario.id,
                    found.goodput,
                    found.best,
                    1e3 * found.latency,
                    found.calm
                );
            }
        }
        oracles.save()?;
        Ok(())
    }
}
