//! What a budget lets through, however the stack is built.

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Full;
use tidegate::{Budget, BudgetPerKey, GaveUpReason, RetryLayer, Units};
use tidegate_testkit::Upstream;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::common::{get, reason, retry};

const REQUESTS: usize = 1_000;
const ATTEMPTS: u32 = 10;

fn broken() -> Upstream {
    Upstream::unlimited().fail(1.0, 500).start_in_process()
}

/// How many requests a thousand become.
async fn sent<S>(upstream: &Upstream, stack: S) -> usize
where
    S: Service<Request<Full<Bytes>>> + Clone,
{
    drop(join_all((0..REQUESTS).map(|_| stack.clone().oneshot(get()))).await);
    upstream.report().arrivals as usize
}

/// A fifth of them, the reserve that was there, and that of the two and a half seconds that it takes.
#[tokio::test(start_paused = true)]
async fn every_way_to_build_it_has_a_budget() {
    let bound = REQUESTS + REQUESTS / 5 + 100 + 30;
    let retry = || RetryLayer::exponential(10.ms()..1.s()).attempts(ATTEMPTS);
    let budget = Budget::default();
    let upstreams = [(); 4].map(|()| broken());
    let [layer, policy, shared, many] = &upstreams;
    let sent = [
        sent(layer, retry().layer(layer.direct())).await,
        sent(
            policy,
            ServiceBuilder::new()
                .retry(retry().policy())
                .service(policy.direct()),
        )
        .await,
        sent(shared, retry().budget(budget).layer(shared.direct())).await,
        // Services of one layer share its budget.
        {
            let layer = retry();
            let stacks = [(); 4].map(|()| layer.layer(many.direct()));
            let calls = (0..REQUESTS).map(|nth| stacks[nth % 4].clone().oneshot(get()));
            drop(join_all(calls).await);
            many.report().arrivals as usize
        },
    ];
    for sent in sent {
        assert!(
            (REQUESTS + REQUESTS / 5 + 100..=bound).contains(&sent),
            "{sent}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_no_budget_left_is_told_at_once() {
    let upstream = broken();
    let stack = retry()
        .budget(Budget::new(0.0).reserve(0.0))
        .layer(upstream.direct());
    let answer = stack.oneshot(get()).await;
    assert_eq!(reason(&answer), GaveUpReason::Budget);
    assert_eq!(upstream.report().arrivals, 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_down_does_not_spend_what_is_anothers() {
    let upstream = Upstream::unlimited()
        .script(|head, _| {
            let is_down = head.uri.host() == Some("down.test");
            is_down.then(|| tidegate_testkit::Response::new(503))
        })
        .respond({
            let failed = std::sync::atomic::AtomicBool::new(false);
            move |_| {
                let first = !failed.swap(true, std::sync::atomic::Ordering::Relaxed);
                tidegate_testkit::Response::new(if first { 503 } else { 200 })
            }
        })
        .start_in_process();
    let per_host = BudgetPerKey::new(0.0, |request: &Request<_>| {
        request.uri().host().map(str::to_owned)
    });
    let stack = retry()
        .budget(per_host.reserve(0.1))
        .layer(upstream.direct());
    let to = |host: &str| {
        let request = Request::get(format!("http://{host}/")).body(Full::<Bytes>::default());
        stack.clone().oneshot(request.unwrap())
    };
    for reason_expected in [const { GaveUpReason::Budget }; 3] {
        assert_eq!(reason(&to("down.test").await), reason_expected);
    }
    assert_eq!(to("up.test").await.unwrap().status(), 200);
}

#[test]
fn a_layer_shows_what_it_will_do() {
    let layer = RetryLayer::exponential(100.ms()..5.s()).deadline(30.s());
    let shown = format!("{layer:?}");
    for setting in [
        "base: 100ms, cap: 5s",
        "jitter: Full",
        "attempts: 3",
        "deadline: Some(30s)",
        "max_hint: 60s",
        "unprocessed: [429]",
        "budget: Budget { share: 0.2, reserve_per_second: 10.0, .. }",
    ] {
        assert!(shown.contains(setting), "{shown}");
    }
}
