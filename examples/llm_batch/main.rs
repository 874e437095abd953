//! A batch of prompts for a language model that limits requests and tokens: each is charged by an
//! estimate when it is sent, and settled by what its answer says.
//!
//! ```console
//! $ cargo run --release --example llm_batch
//! $ cargo run --release --example llm_batch -- --help
//! ```

mod arguments;
mod batch;
mod chat;
mod model;
mod usage;

use std::io::{self, Write};

use anyhow::Context;
use clap::Parser;
use hyper_util::client::legacy::connect::HttpConnector;

use crate::arguments::Arguments;
use crate::usage::Usage;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let model = model::model().start_on_thread();
    let prompts = chat::prompts(arguments.prompts);
    let summary = batch::run(HttpConnector::new(), model.uri(), prompts).await;
    let usage = Usage::new(&model.report(), &summary);
    let text = if arguments.json {
        serde_json::to_string_pretty(&usage)? + "\n"
    } else {
        format!("{summary}\n{usage}\n")
    };
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to standard output")
}
