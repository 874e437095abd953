//! Ten thousand requests to an upstream that overloads: what becomes of them when they are sent all
//! at once, and what behind a gate, a rate, or a limit that finds itself.
//!
//! ```console
//! $ cargo run --release --example batch
//! $ cargo run --release --example batch -- --help
//! ```

mod arguments;
mod attempt;
mod clock;
mod pictures;
mod progress;
mod queue;
mod run;
mod stack;
mod strategy;
mod summary;
mod tally;
mod upstream;
mod urls;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use tidegate::Report;
use tidegate_testkit::raise_descriptor_limit;
use tokio::runtime::Runtime;

use crate::arguments::Arguments;
use crate::progress::Progress;
use crate::run::Run;
use crate::strategy::Strategy;
use crate::summary::Summary;
use crate::upstream::UpstreamProcess;
use crate::urls::Urls;

/// Descriptors that are not connections: standard streams, the runtime's, the upstream's listener.
const RESERVED: usize = 32;

/// Where the limit cannot be read: what the strictest common system allows.
const FEWEST_DESCRIPTORS: u64 = 256;

const BOUND: &str = "this process may not open more file descriptors";

fn main() -> ExitCode {
    // For `https` URLs. It fails where a provider is installed already, which is as good.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    let done = if arguments.serve {
        upstream::serve(arguments.upstream, arguments.seed)
    } else {
        compare(&arguments)
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let most = most_connections();
    let runs = arguments
        .strategies
        .iter()
        .map(|strategy| run(arguments, *strategy, most, &runtime))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (summaries, pictures): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    let text = if arguments.json {
        serde_json::to_string_pretty(&summaries)? + "\n"
    } else {
        summary::table(&summaries)
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to standard output")?;
    for picture in pictures.iter().flatten() {
        eprintln!("drawn into {}", picture.display());
    }
    Ok(())
}

fn run(
    arguments: &Arguments,
    strategy: Strategy,
    most: usize,
    runtime: &Runtime,
) -> anyhow::Result<(Summary, Vec<PathBuf>)> {
    let start = || UpstreamProcess::start(arguments.upstream, arguments.seed);
    let mut upstream = match arguments.urls {
        Some(_) => None,
        None => Some(start().context("cannot start the upstream")?),
    };
    let embedded = upstream.as_ref().map(|upstream| Urls::one(upstream.url()));
    let urls = embedded.or_else(|| arguments.urls.clone());
    let urls = urls.expect("without URLs there is an upstream");
    let requests = arguments.requests.unwrap_or(urls.default_requests());
    let stack = strategy.stack(attempt::client(upstream.is_none())?, arguments.told());
    if stack.window().min(requests) > most {
        eprintln!("{strategy}: at most {most} requests at once: {BOUND}");
    }
    let history = stack
        .steer()
        .filter(|_| arguments.history || arguments.pictures().any())
        .map(|steer| Report::attach_shared(Arc::clone(steer)).title(strategy.name()));
    let progress = Progress::new(strategy, requests);
    // As a task: the end of a try then wakes a neighbour rather than another thread.
    let run =
        runtime.spawn(Run::new(stack, urls, requests, most).finish(progress, history.clone()));
    let tally = runtime.block_on(run)?;
    tally.tell_failures(strategy);
    let mut pictures = Vec::new();
    if let Some(history) = &history {
        if arguments.history {
            eprintln!("{strategy}: {}", history.table());
        }
        pictures = arguments.pictures().draw(strategy, history)?;
    }
    let mut peak_in_flight = None;
    if let Some(upstream) = &mut upstream {
        let report = upstream.report().context("the upstream does not report")?;
        report.tell_exhausted(strategy);
        peak_in_flight = Some(report.peak_in_flight);
    }
    Ok((Summary::new(strategy, &tally, peak_in_flight), pictures))
}

/// How many connections this process may have open, and so may the upstream's.
fn most_connections() -> usize {
    let descriptors = raise_descriptor_limit().unwrap_or(FEWEST_DESCRIPTORS);
    let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
    descriptors.saturating_sub(RESERVED).max(1)
}
