//! The governor and the prober on the real wire beside the simulator: three upstreams, two clients,
//! as many requests as the layer lets go.
//!
//! ```console
//! $ cargo run --release --example wire
//! $ cargo run --release --example wire -- --help
//! ```
//!
//! Fails if a run's goodput is more than 10 % off the simulator's, or its waste more than 2 points, and
//! prints what the limit did in such a run.
//! What was measured stands in `docs/wire.md`.

mod arguments;
mod figures;
mod heard;
mod law;
mod load;
mod plant;
mod read;
mod row;
mod run;
mod wire_client;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::arguments::Arguments;
use crate::row::Row;
use crate::run::Run;

fn main() -> ExitCode {
    // With TLS, which other examples want, reqwest demands a provider.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    match compare(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(off) => {
            eprintln!("{off} runs are off the simulator's figures");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// How many runs were too far off.
fn compare(arguments: &Arguments) -> anyhow::Result<usize> {
    let span = Duration::from_secs(arguments.seconds);
    let mut off = 0;
    print!("{}", Row::HEAD);
    for &plant in &arguments.plants {
        for &law in &arguments.laws {
            let simulated = law.simulate(plant, span)?;
            for &client in &arguments.clients {
                for seed in 1..=arguments.runs {
                    let run = Run {
                        plant,
                        law,
                        client,
                        seed,
                        span,
                    };
                    let (measured, report) = Runtime::new()?.block_on(run.measure())?;
                    let row = Row {
                        run,
                        measured,
                        simulated,
                    };
                    println!("{row}");
                    if !row.agrees() {
                        off += 1;
                        eprintln!("{}", report.table());
                    }
                }
            }
        }
    }
    Ok(off)
}
