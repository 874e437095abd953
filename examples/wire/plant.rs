use std::time::Duration;

use clap::ValueEnum;
use tidegate_sim::{Scenario, ScenarioError};
use tidegate_testkit::{Exponential, Upstream, UpstreamBuilder};

/// An upstream, for the wire and for the simulator.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Plant {
    /// 16 workers and a queue of 16, 503 when it is full
    Workers,
    /// 200 a second with a burst of 20, 429 with Retry-After above that
    Rate,
    /// 16 workers and a queue without end: it never refuses and only slows down
    Slow,
}

impl Plant {
    pub(crate) fn upstream(self) -> UpstreamBuilder {
        let upstream = match self {
            Self::Workers => Upstream::workers(16).queue(16),
            Self::Rate => Upstream::unlimited().rate(200.0, 20).retry_after(),
            Self::Slow => Upstream::workers(16),
        };
        upstream.service_time(Exponential(Duration::from_millis(20)))
    }

    pub(crate) fn scenario(self) -> Result<Scenario, ScenarioError> {
        Scenario::from_toml(match self {
            Self::Workers => include_str!("workers.toml"),
            Self::Rate => include_str!("rate.toml"),
            Self::Slow => include_str!("slow.toml"),
        })
    }
}
