//! As users write it.

use tidegate::{
    Error, GateLayer, GovernorLayer, HttpClassifier, KeyedLayer, RequestBuilderExt, Units,
    per_second,
};
use tidegate_testkit::{Response, Upstream};
use tower::ServiceBuilder;

use crate::loopback::reqwest_client;

#[tokio::test]
async fn a_crawler_with_a_governor_for_each_host() -> Result<(), Error> {
    let upstream = Upstream::workers(10)
        .respond(|_| Response::new(200).body("tide"))
        .start()
        .await;
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(KeyedLayer::per_host(|_host| {
            GovernorLayer::new(HttpClassifier::default()).pace(per_second(1.0))
        }))
        .service(client.clone());
    let handle = stack.handle();

    let port = upstream.uri().rsplit_once(':').unwrap().1;
    let hosts = ["127.0.0.1", "localhost"];
    for host in hosts {
        let page = client.get(format!("http://{host}:{port}/"));
        assert_eq!(page.send_with(&stack).await?.text().await?, "tide");
    }
    assert_eq!(handle.len(), 2);
    for host in hosts {
        let key = format!("{host}:{port}");
        assert_eq!(handle.snapshot(&key).unwrap().pace, Some(per_second(1.0)));
    }
    Ok(())
}

#[tokio::test]
async fn a_key_of_your_own_over_reqwest() -> Result<(), Error> {
    let upstream = Upstream::unlimited().start().await;
    let client = reqwest_client().build()?;
    let stack = ServiceBuilder::new()
        .layer(KeyedLayer::new(
            |request: &reqwest::Request| request.method().to_string(),
            |method| GateLayer::new(if method == "GET" { 8 } else { 1 }).max_wait(5.s()),
        ))
        .service(client.clone());
    client.get(upstream.uri()).send_with(&stack).await?;
    client.post(upstream.uri()).send_with(&stack).await?;
    let limit = |method| stack.handle().get(method).map(|gate| gate.limit());
    assert_eq!(
        (limit("GET"), limit("POST"), limit("PUT")),
        (Some(8), Some(1), None)
    );
    Ok(())
}
