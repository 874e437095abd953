//! A scraper that knows nothing about the server.

use futures_util::{StreamExt, TryStreamExt, stream};
use tidegate::{
    Aimd, Error, FeedbackLayer, GateLayer, HttpClassifier, ProberLayer, RequestBuilderExt, Units,
};
use tidegate_testkit::{Fixed, Response, Upstream};
use tower::{ServiceBuilder, ServiceExt};

use crate::loopback::reqwest_client;

#[tokio::test]
async fn a_scraper_reads_each_page_in_the_future_that_asks_for_it() -> anyhow::Result<()> {
    // One more at once would be refused.
    let upstream = Upstream::workers(10)
        .queue(0)
        .service_time(Fixed(2.ms()))
        .respond(|request| Response::new(200).body(request.uri().path().to_owned()))
        .start()
        .await;
    let urls = (0..500).map(|page| format!("{}/{page}", upstream.uri()));
    let client = reqwest_client().build()?;

    let stack = ServiceBuilder::new()
        .layer(GateLayer::new(10))
        .service(client.clone());

    let mut pages = stream::iter(urls)
        .map(|url| {
            let (stack, request) = (stack.clone(), client.get(url).build());
            async move { anyhow::Ok(stack.oneshot(request?).await?.text().await?) }
        })
        .buffer_unordered(1_000);

    let mut seen = 0;
    while let Some(page) = pages.try_next().await? {
        assert!(page.starts_with('/'));
        seen += 1;
    }
    assert_eq!((seen, upstream.report().served), (500, 500));
    assert!(upstream.peak_in_flight() <= 10);
    Ok(())
}

#[tokio::test]
async fn a_scraper_that_knows_nothing_about_the_server() -> Result<(), Error> {
    let upstream = Upstream::workers(10)
        .service_time(Fixed(2.ms()))
        .respond(|request| Response::new(200).body(request.uri().path().to_owned()))
        .start()
        .await;
    let urls = (0..500).map(|page| format!("{}/{page}", upstream.uri()));
    let client = reqwest_client().build()?;

    let prober = ProberLayer::new(HttpClassifier::default());
    let handle = prober.handle();
    let stack = ServiceBuilder::new().layer(prober).service(client.clone());

    let mut pages = stream::iter(urls)
        .map(|url| {
            let (stack, client) = (stack.clone(), client.clone());
            async move {
                let response = client.get(url).send_with(&stack).await?;
                response.text().await.map_err(Error::from)
            }
        })
        .buffer_unordered(1_000);

    let mut seen = 0;
    while let Some(page) = pages.try_next().await? {
        assert!(page.starts_with('/'));
        seen += 1;
    }
    assert_eq!((seen, upstream.report().served), (500, 500));
    assert!(handle.limit() > 1);
    assert!(upstream.peak_in_flight() > 1);
    Ok(())
}

#[tokio::test]
async fn what_reqwest_said_is_found_in_the_error() -> anyhow::Result<()> {
    let gate = GateLayer::new(4);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), Aimd::new(), gate.handle());
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client.clone());

    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let error = client
        .get(format!("http://{port}/"))
        .send_with(&stack)
        .await
        .unwrap_err();
    assert!(
        error
            .find::<reqwest::Error>()
            .is_some_and(reqwest::Error::is_connect)
    );
    assert!(error.refused().is_none());

    let error = client
        .get("no address")
        .send_with(&stack)
        .await
        .unwrap_err();
    assert!(
        error
            .find::<reqwest::Error>()
            .is_some_and(reqwest::Error::is_builder)
    );
    Ok(())
}
