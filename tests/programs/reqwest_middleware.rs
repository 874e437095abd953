//! reqwest-middleware: a stack is a middleware, and a client with middleware is a service.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, Error, Next};
use tidegate::{
    Aimd, FeedbackLayer, GateHandle, GateLayer, HttpClassifier, Refused, RequestBuilderExt, Units,
};
use tidegate_testkit::{Fixed, Upstream};
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::loopback::reqwest_client;
use crate::support::assert_free;

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'a>>;

/// A closure as a middleware: the compiler has to hear of its lifetime.
fn middleware<F>(closure: F) -> F
where
    F: for<'a> Fn(Request, &'a mut Extensions, Next<'a>) -> Answer<'a>,
{
    closure
}

/// Asks once more after a 503.
fn once_more<'a>(request: Request, extensions: &'a mut Extensions, next: Next<'a>) -> Answer<'a> {
    Box::pin(async move {
        let again = request.try_clone().expect("it has no body");
        let response = next.clone().run(request, extensions).await?;
        if response.status() != 503 {
            return Ok(response);
        }
        drop(response);
        next.run(again, extensions).await
    })
}

/// One worker, busy for 2 ms, and nobody may wait for it.
async fn narrow() -> Upstream {
    Upstream::workers(1)
        .queue(0)
        .service_time(Fixed(2.ms()))
        .start()
        .await
}

/// Each attempt passes the gate, and the law hears of each: the right order where middlewares retry.
#[tokio::test]
async fn a_stack_is_the_last_of_the_middlewares() -> anyhow::Result<()> {
    let upstream = narrow().await;
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let feedback = FeedbackLayer::new(HttpClassifier::default(), Aimd::new().max(1), gate.handle());
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(reqwest_client().build()?);

    let client = ClientBuilder::new(reqwest_client().build()?)
        .with(middleware(once_more))
        .with(middleware(move |request, _, _| {
            let stack = stack.clone();
            Box::pin(async move { stack.oneshot(request).await.map_err(Error::middleware) })
        }))
        .build();

    let calls = (0..20).map(|_| async {
        let response = client.get(upstream.uri()).send().await?;
        anyhow::ensure!(response.status() == 200);
        Ok(response.text().await?)
    });
    futures_util::future::try_join_all(calls).await?;
    assert_eq!(upstream.report().arrivals, 20);
    assert_free(&handle, 1);

    handle.close();
    let error = client.get(upstream.uri()).send().await.unwrap_err();
    // Its error hides what a middleware answered from its own chain of sources.
    let Error::Middleware(error) = error else {
        panic!("{error:?}");
    };
    assert!(Refused::find(error.as_ref()).is_some(), "{error:?}");
    Ok(())
}

/// What the middlewares send once more is one request to the gate above them.
#[tokio::test]
async fn a_client_with_middlewares_is_a_service() -> anyhow::Result<()> {
    let upstream = narrow().await;
    let attempts = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&attempts);
    let client = ClientBuilder::new(reqwest_client().build()?)
        .with(middleware(once_more))
        .with(middleware(move |request, extensions, next| {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(next.run(request, extensions))
        }))
        .build();
    let gate = GateLayer::new(1);
    let handle: GateHandle = gate.handle();
    let stack = gate.layer(client);

    upstream.set_capacity(0.0);
    let plain = reqwest_client().build()?;
    let response = plain.get(upstream.uri()).send_with(&stack).await?;
    assert_eq!(response.status(), 503);
    drop(response);
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
    assert_eq!(upstream.report().arrivals, 2);
    assert_free(&handle, 1);
    Ok(())
}
