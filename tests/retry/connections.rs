//! A failure's connection is used again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::Units;
use tidegate_testkit::Response;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::common::{answers, arrivals, get, retry};

/// How many connections a request took that failed so once, and when it was sent again.
async fn connections(failure: Response) -> (usize, std::time::Duration) {
    let upstream = answers([failure]).start_in_process();
    let opened = Arc::new(AtomicUsize::new(0));
    let (connector, count) = (upstream.connector(), Arc::clone(&opened));
    let connector = service_fn(move |uri: Uri| {
        count.fetch_add(1, Ordering::Relaxed);
        connector.clone().call(uri)
    });
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let response = retry().layer(client).oneshot(get()).await.unwrap();
    assert_eq!(response.status(), 200);
    (opened.load(Ordering::Relaxed), arrivals(&upstream)[1])
}

#[tokio::test(start_paused = true)]
async fn a_small_body_is_read_so_that_its_connection_lives() {
    for length in [0, 1, 64 * 1024] {
        let failure = Response::new(503).body(vec![b'x'; length]);
        assert_eq!(connections(failure).await, (1, 100.ms()), "{length}");
    }
    let chunks = Response::new(503).chunks(5, "busy ", 10.ms());
    assert_eq!(connections(chunks).await, (1, 100.ms()));
}

#[tokio::test(start_paused = true)]
async fn a_large_one_or_a_slow_one_costs_another_connection_but_no_time() {
    let large = Response::new(503).body(vec![b'x'; 64 * 1024 + 1]);
    assert_eq!(connections(large).await, (2, 100.ms()));
    let endless = Response::new(503).chunks(100, vec![b'x'; 1_024], 0.ms());
    assert_eq!(connections(endless).await, (2, 100.ms()));
    let slow = Response::new(503)
        .chunk("busy")
        .pause(101.ms())
        .chunk("still");
    assert_eq!(connections(slow).await, (2, 100.ms()));
}
