//! The commands.

mod args;
mod chart;
mod golden;
mod oracle;
mod report;
mod row;
mod run;
mod suite;
mod table;
mod trace;

pub(crate) use args::Cli;

/// What ends a command early.
pub(crate) type Failed = Box<dyn std::error::Error>;
