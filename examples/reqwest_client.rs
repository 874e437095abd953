//! A thousand pages through reqwest, at a limit that finds itself; the summary at the end.
//!
//! ```console
//! $ cargo run --release --example reqwest_client
//! $ cargo run --release --example reqwest_client -- pages.idx
//! ```
//!
//! With a file it is taken up where it was left: stop it with ctrl-c, and run it again.

use std::env;

use reqwest::{Client, Request};
use tidegate::batch::{Bar, Batch};
use tidegate::{Error, HttpClassifier, ProberLayer, Units};
use tidegate_testkit::{Exponential, Response, Upstream};
use tokio::signal::ctrl_c;
use tower::ServiceBuilder;

const PAGES: usize = 1_000;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // A site that bears 16 at once, lets 16 wait, and answers 503 above that.
    let site = Upstream::workers(16)
        .queue(16)
        .service_time(Exponential(20.ms()))
        .respond(|request| Response::new(200).body(format!("page {}\n", request.uri().path())))
        .start()
        .await;

    // reqwest wants to be told who does its TLS.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().no_proxy().build()?;
    let prober = ProberLayer::new(HttpClassifier::default());
    let handle = prober.handle();
    let stack = ServiceBuilder::new().layer(prober).service(client.clone());

    let urls = (0..PAGES).map(|page| format!("{}/{page}", site.uri()));
    let requests = urls.map(|url| client.get(url).build().expect("it is a URL"));

    let mut batch = Batch::new(stack, requests)
        .steer(handle.clone())
        .again(5, Request::try_clone)
        .until(ctrl_c())
        .progress(Bar::new());
    if let Some(file) = env::args_os().nth(1) {
        batch = batch.resume_from(file);
    }
    let summary = batch
        .each(|_, response| async move { length(response).await })
        .run()
        .await;

    println!("{summary}");
    println!("the limit is {}", handle.limit());
    Ok(())
}

/// Of a page: read within its own task, so that the next one can be asked for.
async fn length(response: Result<reqwest::Response, Error>) -> anyhow::Result<usize> {
    let page = response?.error_for_status()?.bytes().await?;
    Ok(page.len())
}
