//! gRPC on tonic's channel.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::BodyExt;
use tidegate::{Aimd, BoxError, Cause, FeedbackLayer, GateLayer, GrpcClassifier, Outcome, Units};
use tidegate_testkit::{Fault, Response, Upstream};
use tonic::transport::{Channel, Endpoint};
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::recording::Recording;
use crate::support::assert_free;

/// What the clients that tonic generates ask of the service below.
fn assert_grpc_service<S>(_: &S)
where
    S: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
    S::ResponseBody: http_body::Body<Data = Bytes> + Send + 'static,
    <S::ResponseBody as http_body::Body>::Error: Into<BoxError> + Send,
    S::Future: Send,
{
}

/// The channel sends as many messages of a stream as it gets; the call is over at its trailers.
#[tokio::test]
async fn a_call_on_tonics_channel_holds_its_place_to_its_trailers() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|_| {
            Response::new(200)
                .header("content-type", "application/grpc")
                .chunks(3, b"\0\0\0\0\x04tide".as_slice(), 1.ms())
                .trailer("grpc-status", "0")
        })
        .start()
        .await;
    let channel: Channel = Endpoint::from_shared(upstream.uri().to_owned())?.connect_lazy();
    let gate = GateLayer::new(2);
    let stack = gate.layer(channel);
    assert_grpc_service(&stack);

    let calls = (0..10).map(|_| async {
        let request = Request::post("/tide.Tides/Watch").body(tonic::body::Body::empty())?;
        let response = stack.clone().oneshot(request).await?;
        anyhow::Ok(response.into_body().collect().await?)
    });
    for call in join_all(calls).await {
        let call = call?;
        assert_eq!(call.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(call.to_bytes().len(), 27);
    }
    assert_eq!(upstream.report().served, 10);
    assert!(upstream.peak_in_flight() <= 2);
    assert_free(&gate.handle(), 2);
    Ok(())
}

/// The status of a call is in its trailers, or in its head where there is no body.
#[tokio::test]
async fn a_limit_follows_the_status_of_calls_on_tonics_channel() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|request| {
            let head = Response::new(200).header("content-type", "application/grpc");
            let message = b"\0\0\0\0\x04tide".as_slice();
            match request.uri().path() {
                "/tide.Tides/High" => head.chunk(message).trailer("grpc-status", "0"),
                "/tide.Tides/Busy" => head.chunk(message).trailer("grpc-status", "14"),
                _ => head.header("grpc-status", "8"),
            }
        })
        .start()
        .await;
    let channel: Channel = Endpoint::from_shared(upstream.uri().to_owned())?.connect_lazy();
    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new().start(20));
    let feedback = FeedbackLayer::new(GrpcClassifier::default(), law.clone(), gate.handle());
    let handle = feedback.handle();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(channel);
    assert_grpc_service(&stack);

    let call = async |path: &str| {
        let request = Request::post(path).body(tonic::body::Body::empty())?;
        let response = stack.clone().oneshot(request).await?;
        response.into_body().collect().await?;
        anyhow::Ok(())
    };
    call("/tide.Tides/High").await?;
    call("/tide.Tides/Busy").await?;
    call("/tide.Tides/Spring").await?;
    assert_eq!(
        law.outcomes(),
        [
            Outcome::Success,
            Outcome::Overload(Cause::Unavailable),
            Outcome::Overload(Cause::Throttled)
        ]
    );
    assert!(
        law.heard()
            .samples
            .iter()
            .all(|sample| sample.latency.is_some())
    );

    for _ in 0..20 {
        call("/tide.Tides/Busy").await?;
    }
    assert_eq!(handle.limit(), 1);
    assert_eq!(handle.in_flight(), 0);
    Ok(())
}

/// A body of tonic's fails with its own `Status`, which hides why: hyper-util's says it.
#[tokio::test]
async fn a_call_on_tonics_channel_that_is_cut_short_is_a_failure() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|_| {
            Response::new(200)
                .header("content-type", "application/grpc")
                .chunk(b"\0\0\0\0\x04tide".as_slice())
                .trailer("grpc-status", "0")
        })
        .script(|_, _| Fault::ResetInBody)
        .start()
        .await;
    let channel: Channel = Endpoint::from_shared(upstream.uri().to_owned())?.connect_lazy();
    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new());
    let feedback = FeedbackLayer::new(GrpcClassifier::default(), law.clone(), gate.handle());
    let handle = feedback.handle();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(channel);
    let request = Request::post("/tide.Tides/High").body(tonic::body::Body::empty())?;
    let response = stack.oneshot(request).await?;
    assert!(response.into_body().collect().await.is_err());
    assert_eq!(law.outcomes(), [Outcome::Failure]);
    assert_free(&handle, 1);
    Ok(())
}
