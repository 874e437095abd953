use tidegate_sim::{Metrics, run};

use crate::cli::Failed;
use crate::cli::args::{Course, Named};
use crate::cli::row::Row;

/// Runs every law on every scenario with every seed; rows in the order of scenarios, laws, seeds.
pub(crate) fn rows(course: &Course, laws: &[Named]) -> Result<Vec<Row>, Failed> {
    let scenarios = course.scenarios()?;
    let mut oracles = course.oracles()?;
    let mut heats = Vec::new();
    for scenario in &scenarios {
        let mut find = |&seed| (seed, oracles.get(scenario, seed, course.threads()));
        let found: Vec<_> = course.seeds.iter().map(&mut find).collect();
        for law in laws {
            heats.extend(
                found
                    .iter()
                    .map(|(seed, oracle)| (scenario, law, *seed, oracle.clone())),
            );
        }
    }
    oracles.save()?;
    Ok(tidegate_sim::parallel(
        course.threads(),
        &heats,
        |(scenario, law, seed, oracle)| {
            let record = run(scenario, *seed, &*law.maker);
            Row {
                id: scenario.id.clone(),
                law: law.name.clone(),
                seed: *seed,
                metrics: Metrics::new(scenario, &record, oracle),
                events: record.events,
                cut: record.cut,
            }
        },
    ))
}
