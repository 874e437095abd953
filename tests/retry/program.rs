//! What a user writes: 50 a second, ten at once, with retries.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, GateLayer, RetryLayer, Units, per_second};
use tidegate_testkit::{Fixed, Response, Upstream};
use tower::timeout::TimeoutLayer;
use tower::{ServiceBuilder, ServiceExt};

/// The first 25 fail; each answer is a success in the end.
#[tokio::test(start_paused = true)]
async fn fifty_a_second_ten_at_once_with_retries() -> Result<(), BoxError> {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(100.ms()))
        .script(|_, nth| (nth < 25).then(|| Response::new(503)))
        .start_in_process();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());

    let stack = ServiceBuilder::new()
        .layer(RetryLayer::exponential(100.ms()..5.s()).deadline(30.s()))
        .layer(GateLayer::new(10).pace(per_second(50.0).burst(10)))
        .layer(TimeoutLayer::new(5.s()))
        .service(client);

    let answers = join_all((0..500).map(|_| async {
        let request = Request::get(upstream.uri()).body(Full::<Bytes>::default())?;
        let response = stack.clone().oneshot(request).await?;
        assert_eq!(response.status(), 200);
        Ok::<_, BoxError>(response.into_body().collect().await?)
    }));
    for answer in answers.await {
        answer?;
    }
    let report = upstream.report();
    assert_eq!((report.arrivals, report.by_status[&200]), (525, 500));
    assert!(upstream.most_arrivals_in(1.s()) <= 59 && report.peak_in_flight <= 10);
    Ok(())
}
