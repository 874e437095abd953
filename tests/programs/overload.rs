//! A test of a user's own stack.

use futures_util::future::join_all;
use http::StatusCode;
use tidegate::{GateLayer, Units};
use tidegate_testkit::{Exponential, Upstream};
use tower::{Layer, ServiceExt};

use crate::loopback::reqwest_client;

#[tokio::test]
async fn a_stack_is_tested_against_a_server_that_overloads() -> anyhow::Result<()> {
    let upstream = Upstream::workers(16)
        .queue(16)
        .service_time(Exponential(2.ms()))
        .start()
        .await;
    let client = reqwest_client().build()?;
    let stack = GateLayer::new(16).layer(client.clone());
    let run = async || {
        let answers = (0..200).map(|_| async {
            let request = client.get(upstream.uri()).build()?;
            anyhow::Ok(stack.clone().oneshot(request).await?.status())
        });
        join_all(answers)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
    };

    assert!(run().await?.iter().all(StatusCode::is_success));
    assert!(upstream.peak_in_flight() <= 32);
    upstream.set_capacity(0.5);
    assert!(run().await?.iter().all(StatusCode::is_success));
    upstream.set_capacity(0.0);
    assert!(run().await?.iter().all(|status| *status == 503));
    assert!(upstream.peak_in_flight() <= 16);
    Ok(())
}
