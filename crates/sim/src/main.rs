//! `tidegate-sim`: runs laws on models of services, draws what they do, and writes the table.

mod cli;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

/// A file or an argument is wrong, as in clap's own errors.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(USAGE)
        }
    }
}
