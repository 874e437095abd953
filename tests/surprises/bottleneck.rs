use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{BoxError, GateLayer, Units};
use tidegate_testkit::{Fault, Upstream};
use tokio::time::timeout;
use tower::{Layer, Service, ServiceExt};

const HOSTS: [&str; 2] = ["http://stalled.test/", "http://swift.test/"];

fn upstream() -> Upstream {
    Upstream::unlimited()
        .script(|head, _| (head.headers["host"] == "stalled.test").then_some(Fault::Silence))
        .start_in_process()
}

/// Whether the swift host answers while the stalled one holds two requests.
async fn is_answered<S>(stalled: &S, swift: &S) -> bool
where
    S: Service<Request<Empty<Bytes>>, Error: Into<BoxError>, Future: Send + 'static> + Clone,
    S: Send + 'static,
    S::Response: Send,
    S::Error: Send,
{
    let get = |host: &str| Request::get(host).body(Empty::new()).unwrap();
    for _ in 0..2 {
        let call = stalled.clone().oneshot(get(HOSTS[0]));
        tokio::spawn(timeout(60.s(), call));
        tokio::task::yield_now().await;
    }
    let call = swift.clone().oneshot(get(HOSTS[1]));
    timeout(10.s(), call).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn one_gate_before_two_hosts_lets_a_stalled_one_stop_the_other() {
    let upstream = upstream();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());
    let both = GateLayer::new(2).layer(client.clone());
    assert!(!is_answered(&both, &both).await);

    let each = [(); 2].map(|()| GateLayer::new(2).layer(client.clone()));
    assert!(is_answered(&each[0], &each[1]).await);
}
