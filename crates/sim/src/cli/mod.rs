//! The commands.

mod args;
mod oracle;
mod row;
mod run;
mod suite;
mod table;

pub(crate) use args::Cli;

/// What ends a command early.
pub(crate) type Failed = Box<dyn std::error::Error>;
