//! What a gate's error tells, whatever it came through.

use std::error::Error as StdError;
use std::io;

use tidegate::{BoxError, Error, GateLayer, HoldHead, Refused, RefusedReason, Units};
use tower::buffer::BufferLayer;
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::strict::Strict;

fn closed_gate() -> GateLayer<HoldHead> {
    let gate = GateLayer::new(1).hold_head();
    gate.handle().close();
    gate
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_found_through_timeouts_buffers_and_boxes() {
    async fn refusal<S>(service: S) -> Refused
    where
        S: Service<String, Response = u32, Error: Into<BoxError>>,
    {
        let error = service
            .oneshot("tide".to_owned())
            .await
            .map_err(Error::service);
        error.unwrap_err().refused().unwrap().clone()
    }
    let strict = Strict::default();
    let gate = || closed_gate().layer(strict.clone());
    let expected = Refused::new("gate", RefusedReason::Closed);

    assert_eq!(refusal(gate()).await, expected);
    assert_eq!(
        refusal(TimeoutLayer::new(1.s()).layer(gate())).await,
        expected
    );
    assert_eq!(refusal(BufferLayer::new(1).layer(gate())).await, expected);
    assert_eq!(refusal(LoadShedLayer::new().layer(gate())).await, expected);
    assert_eq!(refusal(BoxCloneService::new(gate())).await, expected);
    let everything = ServiceBuilder::new()
        .layer(BoxCloneService::layer())
        .layer(GateLayer::new(1).hold_head())
        .buffer(1)
        .timeout(1.s())
        .map_err(BoxError::from)
        .service(gate());
    assert_eq!(refusal(everything).await, expected);
    assert_eq!(strict.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_goes_into_anyhow_and_into_a_box_by_a_question_mark() {
    type Closed = tidegate::Gate<Strict, HoldHead>;
    async fn into_anyhow(gate: Closed) -> anyhow::Result<u32> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    async fn into_box(gate: Closed) -> Result<u32, Box<dyn StdError>> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    async fn into_send_box(gate: Closed) -> Result<u32, BoxError> {
        Ok(gate.oneshot("tide".to_owned()).await?)
    }
    let gate = closed_gate().layer(Strict::default());
    let words = "refused by gate, nothing was sent: closed";

    let error = into_anyhow(gate.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), words);
    assert!(error.downcast_ref::<Error>().unwrap().refused().is_some());
    assert!(Refused::find(error.as_ref()).is_some());
    assert_eq!(format!("{error:#}"), words);

    let error = into_box(gate.clone()).await.unwrap_err();
    assert_eq!(error.to_string(), words);
    assert!(error.downcast_ref::<Error>().unwrap().refused().is_some());
    assert!(Refused::find(&*error).is_some());

    let error = Error::service(into_send_box(gate).await.unwrap_err());
    assert_eq!(error.to_string(), words);
    assert!(error.refused().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_service_is_found_through_two_gates_and_says_what_it_said() {
    let gate = || GateLayer::new(1).hold_head();
    let service = ServiceBuilder::new()
        .layer(gate())
        .timeout(1.s())
        .layer(gate())
        .service(service_fn(async |()| {
            Err::<(), _>(io::Error::other("reset"))
        }));
    let error = service.oneshot(()).await.unwrap_err();
    assert_eq!(error.find::<io::Error>().unwrap().to_string(), "reset");
    assert_eq!(error.to_string(), "reset");
    assert!(error.refused().is_none());
    let inner = error.into_service().unwrap();
    assert!(inner.is::<io::Error>());
}
