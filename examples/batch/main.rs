//! Ten thousand requests to an upstream that overloads: what becomes of them when they are sent all
//! at once, and what behind a gate, a rate, or a limit that finds itself.
//!
//! ```console
//! $ cargo run --release --example batch
//! $ cargo run --release --example batch -- --help
//! ```

mod arguments;
mod client;
mod clock;
mod pictures;
mod progress;
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

use anyhow::Context;
use clap::Parser;
use tidegate_testkit::raise_descriptor_limit;
use tokio::runtime::Runtime;

use crate::arguments::Arguments;
use crate::client::{Sends, Timed};
use crate::progress::Shown;
use crate::strategy::Strategy;
use crate::summary::Summary;
use crate::tally::Tally;
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
    let client = Timed::new(upstream.is_none())?;
    let stack = strategy.stack(client.clone(), arguments.told());
    if stack.limit().min(requests) > most {
        eprintln!("{strategy}: at most {most} requests at once: {BOUND}");
    }
    let is_shown = arguments.history || arguments.pictures().any();
    let history = is_shown.then(|| stack.report().title(&strategy.title(requests)));
    let shown = Shown::new(strategy, history.clone());
    // As a task: the end of a try then wakes a neighbour rather than another thread.
    let run = runtime.spawn(run::run(stack, urls, requests, most, shown));
    let tally = runtime.block_on(run)?;
    tell_failures(strategy, &tally, &client.sends());
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
    let sent = client.sends().sent;
    let summary = Summary::new(strategy, &tally, sent, peak_in_flight);
    Ok((summary, pictures))
}

/// On standard error: why the first one failed, and what this machine had not enough of.
fn tell_failures(strategy: Strategy, tally: &Tally, sends: &Sends) {
    if let Some(first) = &tally.first_failed {
        let failed = tally.failed;
        eprintln!("{strategy}: {failed} failed, the first of them {first}");
    }
    for (what, tries) in &sends.exhausted {
        eprintln!("{strategy}: {tries} tries were not sent: {what}");
    }
}

/// How many connections this process may have open, and so may the upstream's.
fn most_connections() -> usize {
    let descriptors = raise_descriptor_limit().unwrap_or(FEWEST_DESCRIPTORS);
    let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
    descriptors.saturating_sub(RESERVED).max(1)
}
