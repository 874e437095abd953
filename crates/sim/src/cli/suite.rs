use tidegate_sim::{Metrics, Oracle, parallel};

use crate::cli::Failed;
use crate::cli::args::{Course, Named};
use crate::cli::row::Row;

/// Every law on every scenario with every seed.
pub(crate) struct Suite {
    /// In the order of scenarios, laws, seeds.
    pub(crate) rows: Vec<Row>,
    /// In the order of scenarios, seeds; with the scenario's name.
    pub(crate) oracles: Vec<(String, Oracle)>,
}

pub(crate) fn run(course: &Course, laws: &[Named]) -> Result<Suite, Failed> {
    let scenarios = course.scenarios()?;
    let mut file = course.oracles()?;
    let mut oracles = Vec::new();
    for scenario in &scenarios {
        for &seed in &course.seeds {
            let oracle = file.get(scenario, seed, course.threads());
            oracles.push((scenario.id.clone(), oracle));
        }
    }
    file.save()?;
    let seeds = course.seeds.len();
    let mut heats = Vec::new();
    for (scenario, oracles) in scenarios.iter().zip(oracles.chunks(seeds)) {
        for law in laws {
            let seeded = course.seeds.iter().zip(oracles);
            heats.extend(seeded.map(|(&seed, (_, oracle))| (scenario, law, seed, oracle)));
        }
    }
    let rows = parallel(
        course.threads(),
        &heats,
        |&(scenario, law, seed, oracle)| {
            let record = tidegate_sim::run(scenario, seed, &*law.maker);
            Row {
                id: scenario.id.clone(),
                law: law.name.clone(),
                seed,
                metrics: Metrics::new(scenario, &record, oracle),
                events: record.events,
                cut: record.cut,
            }
        },
    );
    Ok(Suite { rows, oracles })
}
