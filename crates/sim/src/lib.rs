#![doc = include_str!("../README.md")]

mod clock;
mod engine;
pub mod laws;
mod metrics;
mod open_set;
mod oracle;
mod parallel;
mod random;
mod record;
mod scenario;
mod segments;
mod series;
mod server;
mod status;

pub use engine::{Seat, run};
pub use metrics::Metrics;
pub use open_set::open_set;
pub use oracle::{Oracle, OracleFile};
pub use parallel::parallel;
pub use record::Record;
pub use scenario::{
    Background, Distribution, Dump, Load, Piece, Scenario, ScenarioError, Server, ServerKind, Step,
};
pub use series::{Point, Series};
