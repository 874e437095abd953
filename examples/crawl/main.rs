//! A polite crawler: for each host a gate and a delay of its own, redirects included.
//!
//! ```console
//! $ cargo run --release --example crawl
//! $ cargo run --release --example crawl -- --help
//! ```

mod arguments;
mod crawl;
mod sites;
mod summary;

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Context;
use clap::Parser;

use crate::arguments::Arguments;
use crate::crawl::Crawl;
use crate::sites::Sites;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sites = Sites::start(arguments.sites, arguments.pages).await;
    let started = now();
    let mut crawl = Crawl::new(&arguments);
    crawl.run(sites.first_page()).await?;
    let seconds = (now() - started).as_secs_f64();
    let rows = summary::rows(&sites, &crawl, seconds);
    let text = if arguments.json {
        serde_json::to_string_pretty(&rows)? + "\n"
    } else {
        summary::table(&rows)
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to standard output")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program is a shell: here it reads the clock"
)]
fn now() -> Instant {
    Instant::now()
}
