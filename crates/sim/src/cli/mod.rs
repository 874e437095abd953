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

use std::io::{self, Write};

/// What ends a command early.
pub(crate) type Failed = Box<dyn std::error::Error>;

/// Writes to the standard output; a reader that has gone away has read enough.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
