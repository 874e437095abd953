use std::time::Duration;

use clap::ValueEnum;
use tidegate_sim::laws;

use crate::figures::Figures;
use crate::plant::Plant;

/// A law that is simulated runs so often; the figures are the mean.
const SEEDS: u32 = 10;

/// Who moves the limit.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Law {
    /// Holds the share of failures at 5 %
    Governor,
    /// Finds the limit from nothing
    Prober,
}

impl Law {
    fn name(self) -> &'static str {
        match self {
            Self::Governor => "governor",
            Self::Prober => "prober",
        }
    }

    /// What the simulator says of it.
    pub(crate) fn simulate(self, plant: Plant, span: Duration) -> anyhow::Result<Figures> {
        let mut scenario = plant.scenario()?;
        scenario.duration = span;
        let law = laws::by_name(self.name())?;
        let mut mean = Figures {
            goodput: 0.0,
            waste: 0.0,
        };
        for seed in 1..=SEEDS {
            let record = tidegate_sim::run(&scenario, seed.into(), &law);
            mean.goodput += record.goodput() / f64::from(SEEDS);
            mean.waste += record.waste() / f64::from(SEEDS);
        }
        Ok(mean)
    }
}
