//! hyper-util's client.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{Aimd, BoxError, FeedbackLayer, GateLayer, HttpClassifier, Units, per_second};
use tidegate_testkit::{Fixed, Upstream};
use tower::timeout::TimeoutLayer;
use tower::{ServiceBuilder, ServiceExt};

use crate::support::{assert_free, now};

#[tokio::test(start_paused = true)]
async fn hyper_util_fifty_a_second_ten_at_once_five_seconds_each() -> Result<(), BoxError> {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(100.ms()))
        .start_in_process();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());

    let stack = ServiceBuilder::new()
        .layer(GateLayer::new(10).pace(per_second(50.0).burst(10)))
        .layer(TimeoutLayer::new(5.s()))
        .service(client);

    let started = now();
    let responses = join_all((0..110).map(|_| async {
        let request = Request::get(upstream.uri()).body(Full::<Bytes>::default())?;
        let response = stack.clone().oneshot(request).await?;
        Ok::<_, BoxError>(response.into_body().collect().await?)
    }));
    for response in responses.await {
        response?;
    }
    assert_eq!(now() - started, 100 * 20.ms() + 100.ms());
    assert_eq!(upstream.most_arrivals_in(1.s()), 59);
    assert_eq!(upstream.peak_in_flight(), 10);
    Ok(())
}

/// The upstream has ten workers and no queue: one request more at once is refused.
#[tokio::test(start_paused = true)]
async fn hyper_util_finds_how_many_at_once_an_upstream_can_bear() -> Result<(), BoxError> {
    let upstream = Upstream::workers(10)
        .queue(0)
        .service_time(Fixed(100.ms()))
        .start_in_process();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());

    let gate = GateLayer::new(1);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), Aimd::new(), gate.handle());
    let (free, handle) = (gate.handle(), feedback.handle());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .layer(TimeoutLayer::new(5.s()))
        .service(client);

    let responses = join_all((0..2_000).map(|_| async {
        let request = Request::get(upstream.uri()).body(Full::<Bytes>::default())?;
        let response = stack.clone().oneshot(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok::<_, BoxError>(status)
    }));
    let mut refused = 0;
    for status in responses.await {
        refused += u64::from(status? == 503);
    }
    let report = upstream.report();
    assert_eq!((report.served, report.refused), (2_000 - refused, refused));
    // It asks again and again for one more than there is room for, and that much costs an answer.
    assert!(refused < 2_000 / 20, "{refused} refused");
    assert!((5..=11).contains(&handle.limit()), "{}", handle.limit());
    assert_free(&free, handle.limit());
    Ok(())
}
