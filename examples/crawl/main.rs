//! A polite crawler of 50 hosts: for each a gate and a pace of its own, redirects included.
//!
//! ```console
//! $ cargo run --release --example crawl
//! $ cargo run --release --example crawl -- --help
//! ```
//!
//! The pace of a host is what it allows; a crawler that only knows how long to wait between two
//! requests sets `per(1.0, delay)`. What is printed for each host: the most that started above its
//! rate in any window, which is its burst; how long its requests take at least, and when the last of
//! them started; and for the whole crawl, how much longer it took than the slowest of them has to.

mod arguments;
mod capacity;
mod crawl;
mod page;
mod sites;
mod summary;

use std::io::{self, Write};

use anyhow::Context;
use clap::Parser;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use crate::arguments::Arguments;
use crate::sites::Sites;
use crate::summary::Summary;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sites = Sites::start(&arguments).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let crawl = crawl::crawl(client, &sites.capacities()).await?;
    let summary = Summary::new(&sites, &crawl);
    let text = if arguments.json {
        serde_json::to_string_pretty(&summary)? + "\n"
    } else {
        summary.table()
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to standard output")
}
