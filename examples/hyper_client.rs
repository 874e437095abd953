//! hyper-util's client with all that is known about a service: fifty a second, ten at once, and what
//! fails is sent again.
//!
//! ```console
//! $ cargo run --release --example hyper_client
//! ```

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, GateLayer, RetryLayer, Units, batch::Batch, per_second};
use tidegate_testkit::{Fixed, Upstream};
use tower::ServiceBuilder;
use tower::timeout::TimeoutLayer;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // It fails one request in ten, for no reason that we know.
    let upstream = Upstream::unlimited()
        .service_time(Fixed(20.ms()))
        .fail(0.1, 503)
        .start()
        .await;

    let gate = GateLayer::new(10).pace(per_second(50.0).burst(10));
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(
            RetryLayer::exponential(10.ms()..1.s())
                .attempts(8)
                .deadline(30.s()),
        )
        .layer(gate)
        .layer(TimeoutLayer::new(5.s()))
        .service(Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>());

    let requests = (0..60).map(|n| {
        let request = Request::get(format!("{}/{n}", upstream.uri()));
        request.body(Full::default()).expect("it is a request")
    });
    let summary = Batch::new(stack, requests)
        .steer(handle)
        .each(|_, response| async move {
            let response = response?;
            if !response.status().is_success() {
                return Err(BoxError::from(response.status().to_string()));
            }
            Ok(response.into_body().collect().await?.to_bytes())
        })
        .run()
        .await;

    println!("{summary}");
    let (arrivals, most) = (upstream.report().arrivals, upstream.most_arrivals_in(1.s()));
    println!("{arrivals} were sent, at most {most} within a second");
    Ok(())
}
