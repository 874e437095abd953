//! An axum service that protects the service it calls: two handlers share one stack.
//!
//! ```console
//! $ cargo run --release --example axum_outbound
//! ```
//!
//! What the gate refuses is answered with 503, and `Retry-After` where a pace or a pause says when. At
//! ctrl-c nobody is let in any more, and what is under way is answered.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use tidegate::{
    Client, Error, GateHandle, GateLayer, Refused, RequestBuilderExt, Units, per_second,
};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;
use tower::ServiceBuilder;

#[derive(Clone)]
struct App {
    accounts: Client<reqwest::Request, reqwest::Response>,
    http: reqwest::Client,
    url: String,
    gate: GateHandle,
}

async fn user(State(app): State<App>, Path(id): Path<u64>) -> Result<String, Error> {
    app.ask(&format!("users/{id}")).await
}

async fn report(State(app): State<App>) -> Result<String, Error> {
    app.ask("report").await
}

/// For whoever watches it.
async fn gate(State(App { gate, .. }): State<App>) -> Result<String, Refused> {
    let (in_flight, waiting) = (gate.in_flight(), gate.waiting());
    Ok(format!("{in_flight} in flight, {waiting} waiting"))
}

impl App {
    fn new(url: &str) -> anyhow::Result<Self> {
        // Two at once, ten a second after a burst of twenty; one may wait, for a minute at most.
        let gate = GateLayer::new(2)
            .pace(per_second(10.0).burst(20))
            .max_queue(1)
            .max_wait(60.s());
        // reqwest wants to be told who does its TLS.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self {
            gate: gate.handle(),
            accounts: Client::new(ServiceBuilder::new().layer(gate).service(http.clone())),
            http,
            url: url.to_owned(),
        })
    }

    async fn ask(&self, path: &str) -> Result<String, Error> {
        let request = self.http.get(format!("{}/{path}", self.url));
        Ok(request.send_with(&self.accounts).await?.text().await?)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let accounts = Upstream::unlimited()
        .service_time(Fixed(5.ms()))
        .respond(|request| match request.uri().path() {
            "/report" => Response::new(200).body("a long report").after(2.s()),
            path => Response::new(200).body(format!("all about {path}")),
        })
        .start()
        .await;

    let app = App::new(accounts.uri())?;
    let gate_handle = app.gate.clone();
    let routes = Router::new()
        .route("/users/{id}", get(user))
        .route("/report", get(report))
        .route("/gate", get(gate))
        .with_state(app);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);

    let serve = axum::serve(listener, routes).with_graceful_shutdown(async move {
        let _ = ctrl_c().await;
        // Whoever waits at the gate is refused, and need not be waited for.
        let left = gate_handle.drain(5.s()).await;
        println!("{left} left");
    });
    Ok(serve.await?)
}
