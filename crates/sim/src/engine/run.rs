use tidegate_core::Controller;

use crate::engine::pilot::{Pilot, Seat};
use crate::engine::simulation::Simulation;
use crate::record::Record;
use crate::scenario::Scenario;

/// Runs a scenario once, with the law that `law` makes for each client.
///
/// The record depends on the scenario, the seed and the law, and on nothing else.
///
/// ```
/// use tidegate_sim::{Scenario, laws, run};
///
/// let scenario = Scenario::from_toml(
///     r#"
///     id = "sixteen"
///     rtt = "5ms"
///     duration = "10s"
///     [server]
///     kind = "fifo"
///     workers = 16
///     service = { exponential = "20ms" }
///     [load]
///     kind = "closed"
///     "#,
/// )?;
/// let record = run(&scenario, 1, &|_| Box::new(laws::Fixed::new(32)));
/// assert!((780.0..820.0).contains(&record.goodput()));
/// # Ok::<(), tidegate_sim::ScenarioError>(())
/// ```
pub fn run(
    scenario: &Scenario,
    seed: u64,
    law: &(dyn Fn(&Seat) -> Box<dyn Controller> + Sync),
) -> Record {
    fly(scenario, seed, &Pilot::Laws(law))
}

pub(crate) fn fly(scenario: &Scenario, seed: u64, pilot: &Pilot<'_>) -> Record {
    Simulation::new(scenario, seed, pilot).run()
}
