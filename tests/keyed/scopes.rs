//! A tenant's limit inside of a host's, inside of one for all.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use http::Response;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tidegate::{Error, GateLayer, KeyedLayer, RateLayer, Refused, RefusedReason};
use tokio::time::advance;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::{Head, get, slow, strict};

fn tenant(request: &Head) -> String {
    request.headers()["x-tenant"].to_str().unwrap().to_owned()
}

fn request(tenant: &str, host: &str) -> Head {
    let mut request = get(format!("http://{host}/"));
    request
        .headers_mut()
        .insert("x-tenant", tenant.parse().unwrap());
    request
}

/// Tenant, host and all: so many at once, and no more for 1,000 seconds.
fn stack(
    bursts: [u32; 3],
) -> (
    impl Service<Head, Response = Response<()>, Error = Error, Future: Send> + Clone,
    Arc<AtomicUsize>,
) {
    let [of_tenant, of_host, of_all] = bursts;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let stack = ServiceBuilder::new()
        .layer(KeyedLayer::new(tenant, move |_| {
            strict(100, slow(of_tenant))
        }))
        .layer(KeyedLayer::per_host(move |_| strict(100, slow(of_host))))
        .layer(strict(100, slow(of_all)))
        .service(service_fn(move |_| {
            count.fetch_add(1, SeqCst);
            async { Ok::<_, std::io::Error>(Response::new(())) }
        }));
    (stack, sent)
}

async fn refusal<S>(stack: &S, tenant: &str, host: &str) -> Option<Refused>
where
    S: Service<Head, Response = Response<()>, Error = Error> + Clone,
{
    let answer = stack.clone().oneshot(request(tenant, host)).await;
    answer.err().map(|error| error.refused().unwrap().clone())
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_whose_it_was() {
    let (stack, _) = stack([2, 3, 4]);
    let mut refusals = Vec::new();
    for (tenant, host) in [
        ("ann", "a"),
        ("ann", "a"),
        ("ann", "b"), // ann's are charged
        ("bob", "a"),
        ("bob", "a"), // a's are charged
        ("bob", "b"),
        ("cid", "b"), // all are charged
    ] {
        let refused = refusal(&stack, tenant, host).await;
        refusals.extend(refused.map(|refused| {
            assert_eq!(refused.by, "gate");
            assert!(matches!(refused.reason, RefusedReason::WaitTooLong { .. }));
            refused.key.as_deref().map(str::to_owned)
        }));
    }
    let expected = [Some("ann"), Some("a"), None];
    assert_eq!(refusals, expected.map(|key| key.map(str::to_owned)));
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_by_one_scope_is_charged_by_none() {
    let bursts = [5, 4, 30];
    let (stack, sent) = stack(bursts);
    let mut random = StdRng::seed_from_u64(7);
    let mut charged: HashMap<String, u32> = HashMap::new();
    for _ in 0..2_000 {
        let tenant = format!("tenant-{}", random.random_range(0..8));
        let host = format!("host-{}", random.random_range(0..9));
        let scopes = [tenant.clone(), host.clone(), "all".to_owned()];
        let passes = scopes
            .iter()
            .zip(bursts)
            .all(|(scope, burst)| charged.get(scope).is_none_or(|charged| *charged < burst));
        if passes {
            scopes
                .into_iter()
                .for_each(|scope| *charged.entry(scope).or_default() += 1);
        }
        let refused = refusal(&stack, &tenant, &host).await;
        assert_eq!(refused.is_none(), passes, "{tenant} {host}: {refused:?}");
    }
    assert_eq!(sent.load(SeqCst), 30);
}

#[tokio::test(start_paused = true)]
async fn twenty_requests_of_one_key_take_one_token_of_all() {
    let (stack, sent) = stack([1, 100, 10]);
    for turn in 0..20 {
        assert_eq!(refusal(&stack, "ann", "a").await.is_none(), turn == 0);
    }
    for tenant in 0..20 {
        let passes = refusal(&stack, &format!("tenant-{tenant}"), "a")
            .await
            .is_none();
        assert_eq!(passes, tenant < 9);
    }
    assert_eq!(sent.load(SeqCst), 10);
    advance(Duration::from_secs(1_000)).await;
    assert!(refusal(&stack, "ann", "a").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_service_is_no_refusal_and_its_tokens_are_charged() {
    let keyed = KeyedLayer::per_host(|_| strict(100, slow(1)));
    let broken = service_fn(async |_: Head| Err::<Response<()>, _>(std::io::Error::other("reset")));
    let stack = keyed.layer(broken);
    let error = stack.clone().oneshot(get("http://a/")).await.unwrap_err();
    assert!(error.find::<std::io::Error>().is_some() && error.refused().is_none());
    let error = stack.clone().oneshot(get("http://a/")).await.unwrap_err();
    assert_eq!(error.refused().unwrap().key.as_deref(), Some("a"));
}

/// A tenant that has two tokens, in front of a gate for all whose one place is taken.
#[tokio::test(start_paused = true)]
async fn who_leaves_while_a_wider_scope_lets_it_wait_is_charged_by_none() {
    let all = GateLayer::new(1).hold_head();
    let gate = all.handle();
    let rate = |_: &str| RateLayer::new(slow(2)).max_wait(Duration::ZERO);
    let stack = ServiceBuilder::new()
        .layer(KeyedLayer::new(tenant, |_| strict(10, slow(2))))
        .layer(KeyedLayer::per_host(rate))
        .layer(all)
        .service(service_fn(async |_: Head| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, std::io::Error>(Response::new(()))
        }));
    let place = gate.try_acquire().unwrap();
    for _ in 0..10 {
        let call = stack.clone().oneshot(request("ann", "a"));
        let left = tokio::time::timeout(Duration::from_millis(10), call).await;
        assert!(left.is_err() && gate.waiting() == 0);
    }
    drop(place);
    // Who leaves after it was sent has spent its token.
    let sent = stack.clone().oneshot(request("ann", "a"));
    let left = tokio::time::timeout(Duration::from_millis(10), sent).await;
    assert!(left.is_err());
    assert!(refusal(&stack, "ann", "a").await.is_none());
    let refused = refusal(&stack, "ann", "a").await.unwrap();
    assert_eq!(refused.key.as_deref(), Some("ann"));
    assert_eq!(
        refusal(&stack, "bob", "a").await.unwrap().key.as_deref(),
        Some("a")
    );
}
