use clap::Parser;

use crate::law::Law;
use crate::plant::Plant;
use crate::wire_client::WireClient;

/// Runs the governor and the prober against upstreams on loopback, and compares what comes of it
/// with the simulator.
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// How long each run is.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// How many runs of each kind, with the seeds from 1 on.
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: u64,
    /// Upstreams, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Plant::Workers, Plant::Rate, Plant::Slow])]
    pub(crate) plants: Vec<Plant>,
    /// Clients, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [WireClient::Reqwest, WireClient::HyperUtil])]
    pub(crate) clients: Vec<WireClient>,
    /// Laws, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Law::Governor, Law::Prober])]
    pub(crate) laws: Vec<Law>,
}
