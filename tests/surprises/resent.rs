use tidegate::{Aimd, FeedbackLayer, GateLayer, HttpClassifier, RequestBuilderExt};
use tidegate_testkit::{Fault, Upstream};
use tower::ServiceBuilder;

use crate::loopback::reqwest_client;
use crate::recording::Recording;

/// How often a request arrives that HTTP/2 refuses each time, and how many samples that takes.
async fn refused(client: reqwest::ClientBuilder) -> anyhow::Result<(u64, usize)> {
    let upstream = Upstream::unlimited()
        .script(|_, _| Fault::RefusedStream)
        .start()
        .await;
    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new());
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
    let client = client.http2_prior_knowledge().build()?;
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(client.clone());
    let error = client
        .get(upstream.uri())
        .send_with(&stack)
        .await
        .unwrap_err();
    assert!(error.find::<reqwest::Error>().is_some());
    Ok((upstream.report().arrivals, law.outcomes().len()))
}

#[tokio::test]
async fn reqwest_sends_again_what_http_2_refused_and_can_be_told_not_to() -> anyhow::Result<()> {
    assert_eq!(refused(reqwest_client()).await?, (3, 1));
    let once = reqwest_client().retry(reqwest::retry::never());
    assert_eq!(refused(once).await?, (1, 1));
    Ok(())
}
