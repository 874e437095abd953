//! reqwest-middleware: a stack as the last of a client's middlewares, and a client with middlewares as
//! the innermost service of a stack.
//!
//! ```console
//! $ cargo run --release --example middleware
//! ```
//!
//! The first form is for a client that others use: what they send passes the gate, each attempt of the
//! middlewares above by itself. The second is for middlewares that are to see only what is let through.

use std::future::Future;
use std::pin::Pin;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Next};
use tidegate::{BoxError, GateLayer, RequestBuilderExt, Units};
use tidegate_testkit::{Fixed, Upstream};
use tower::{Layer, Service, ServiceExt};

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// A closure as a middleware: the compiler has to hear of its lifetime.
fn middleware<F>(closure: F) -> F
where
    F: for<'a> Fn(Request, &'a mut Extensions, Next<'a>) -> Answer<'a>,
{
    closure
}

/// A client whose requests go out through this stack, rather than through its own client.
fn client_through<S>(stack: S) -> ClientWithMiddleware
where
    S: Service<Request, Response = Response> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    ClientBuilder::new(reqwest::Client::new())
        .with(middleware(move |request, _, _| {
            let stack = stack.clone();
            Box::pin(async move {
                let answer = stack.oneshot(request).await;
                answer.map_err(|error| Error::middleware(tidegate::Error::service(error)))
            })
        }))
        .build()
}

/// A client that says who it is.
fn client_that_signs(client: reqwest::Client) -> ClientWithMiddleware {
    ClientBuilder::new(client)
        .with(middleware(|mut request, extensions, next| {
            let name = "middleware-example".parse().expect("it is a header");
            request.headers_mut().insert("from", name);
            Box::pin(next.run(request, extensions))
        }))
        .build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let upstream = Upstream::workers(4)
        .queue(0)
        .service_time(Fixed(5.ms()))
        .start()
        .await;
    // reqwest wants to be told who does its TLS.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let plain = reqwest::Client::builder().no_proxy().build()?;
    let gate = GateLayer::new(4);

    // Twenty at once, of which the service would refuse sixteen.
    let client = client_through(gate.layer(plain.clone()));
    let calls = (0..20).map(|_| async {
        let response = client.get(upstream.uri()).send().await?;
        Ok::<_, Error>(response.error_for_status()?.text().await?)
    });
    let answers = futures_util::future::join_all(calls).await;
    let answered = answers.iter().filter(|answer| answer.is_ok()).count();
    println!("below the middlewares: {answered} answered");

    let stack = gate.layer(client_that_signs(plain.clone()));
    let response = plain.get(upstream.uri()).send_with(&stack).await?;
    println!("above the middlewares: {}", response.status());

    let report = upstream.report();
    println!("{} refused by the service", report.refused);
    Ok(())
}
