//! A service that shows what its stack does to Prometheus, beside a small run that gives it something to
//! show.
//!
//! ```console
//! $ cargo run --release --example metrics
//! $ cargo run --release --example metrics -- --help
//! ```
//!
//! It prints where to scrape it, sends a hundred requests of two tenants and a burst of ten, and serves
//! until ctrl-c, or for as long as it is told to. The dashboard for it is `docs/grafana/tidegate.json`.

use std::future::pending;
use std::net::Ipv4Addr;

use anyhow::Context;
use axum::Router;
use axum::routing::get;
use clap::Parser;
use futures_util::future::join_all;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tidegate::{
    Client, Error, GateLayer, GovernorLayer, HttpClassifier, KeyedLayer, Metrics, RateLayer,
    RequestBuilderExt, RetryLayer, Units,
};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;
use tokio::time::sleep;
use tower::ServiceBuilder;

/// Shows what a stack does to Prometheus, which scrapes it on loopback.
#[derive(Debug, Parser)]
#[command(name = "metrics")]
struct Arguments {
    /// The port to scrape; 0 is any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// For how long it serves. Until ctrl-c if it is not given.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
}

type Stack = Client<reqwest::Request, reqwest::Response>;

/// Four at once, and two may wait; for each tenant a rate that nobody reaches and a governor; retries.
fn stack(metrics: &Metrics, http: &reqwest::Client) -> Stack {
    let retry = RetryLayer::exponential(1.ms()..5.ms());
    let gate = GateLayer::new(4).max_queue(2);
    metrics.attach(&gate.handle());
    let tenants = {
        let metrics = metrics.clone();
        let tenant = |request: &reqwest::Request| request.url().path()[1..].to_owned();
        KeyedLayer::new(tenant, move |tenant| {
            let metrics = metrics.key(tenant);
            let rate = RateLayer::per_second(1_000.0).burst(1_000);
            metrics.attach(&rate.handle());
            let governor = GovernorLayer::new(HttpClassifier::default()).setpoint(0.15);
            metrics.attach(&governor.handle());
            (rate, governor)
        })
    };
    Client::new(
        ServiceBuilder::new()
            .layer(retry.observe(metrics.observer()))
            .layer(gate)
            .layer(tenants)
            .layer(metrics.requests())
            .service(http.clone()),
    )
}

/// Of the first requests every tenth finds it unavailable.
async fn upstream() -> Upstream {
    let upstream = Upstream::unlimited().service_time(Fixed(20.ms()));
    let script = |nth| (nth < 110 && nth % 10 == 5).then(|| Response::new(503));
    upstream.script(move |_, nth| script(nth)).start().await
}

/// A hundred requests one after the other, and then ten at once.
async fn run(url: &str, http: &reqwest::Client, stack: &Stack) -> anyhow::Result<()> {
    let ask = async |tenant: &str| -> Result<String, Error> {
        let url = format!("{url}/{tenant}?token=secret");
        Ok(http.get(url).send_with(stack).await?.text().await?)
    };
    for _ in 0..50 {
        ask("red").await?;
        ask("blue").await?;
    }
    let burst = join_all((0..10).map(|_| ask("red"))).await;
    let refused = burst
        .iter()
        .filter_map(|answer| answer.as_ref().err()?.refused());
    println!("{} of ten at once were refused", refused.count());
    Ok(())
}

/// Everything as it stands when it is asked for.
fn scrape(metrics: &Metrics, prometheus: &PrometheusHandle) -> String {
    metrics.refresh();
    prometheus.render()
}

/// Until ctrl-c, or until that many seconds are over.
async fn end(seconds: Option<u32>) {
    let time = async {
        match seconds {
            Some(seconds) => sleep(u64::from(seconds).s()).await,
            None => pending().await,
        }
    };
    tokio::select! {
        _ = ctrl_c() => {}
        () = time => {}
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let prometheus = PrometheusBuilder::new()
        .with_recommended_naming(true)
        .set_buckets(&tidegate::metrics::SECONDS)?
        .install_recorder()?;
    let metrics = Metrics::new("api");

    let routes = {
        let metrics = metrics.clone();
        let page = async move || scrape(&metrics, &prometheus);
        Router::new().route("/metrics", get(page))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await?;
    println!("http://{}/metrics", listener.local_addr()?);

    // reqwest wants to be told who does its TLS.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build()?;
    let (upstream, stack) = (upstream().await, stack(&metrics, &http));
    let serve = axum::serve(listener, routes).with_graceful_shutdown(end(arguments.seconds));
    let (served, ran) = tokio::join!(serve, run(upstream.uri(), &http, &stack));
    ran.context("the run")?;
    Ok(served?)
}
