//! One host that meters several resources apart.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use http::Response;
use tidegate::{KeyedLayer, RateLayer, Units, per_hour, per_minute};
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::support::now;
use crate::{Head, free, get, send};

/// What a path is metered as.
fn resource(request: &Head) -> &'static str {
    match request.uri().path() {
        "/search" => "search",
        "/search/code" => "code_search",
        _ => "core",
    }
}

/// When requests of each resource came.
type Seen = Arc<Mutex<HashMap<&'static str, Vec<Duration>>>>;

#[tokio::test(start_paused = true)]
async fn each_resource_of_a_host_has_a_quota_of_its_own_and_uses_all_of_it() {
    let started = now();
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let pace = |resource: &str| match resource {
        "search" => per_minute(30.0),
        "code_search" => per_minute(10.0),
        _ => per_hour(5_000.0),
    };
    let stack = KeyedLayer::new(resource, move |resource| RateLayer::new(pace(resource))).layer(
        service_fn(move |request: Head| {
            let mut seen = log.lock().unwrap();
            let times = seen.entry(resource(&request)).or_default();
            times.push(now() - started);
            async { Ok::<_, io::Error>(Response::new(())) }
        }),
    );
    let paths = ["/repos", "/search", "/search/code"];
    let calls = (0..3_000).map(|call| {
        stack
            .clone()
            .oneshot(get(format!("http://api{}", paths[call % 3])))
    });
    let _ = tokio::time::timeout(599_999.ms(), join_all(calls)).await;
    let seen = seen.lock().unwrap();
    let counts = ["core", "search", "code_search"].map(|resource| seen[resource].len());
    // In ten minutes: 5,000 / 6, 300 and 100, and no more of one for the others' waiting.
    assert_eq!(counts, [834, 300, 100]);
}

/// The service says which of its meters is empty; the key of the request does not tell.
#[tokio::test(start_paused = true)]
async fn a_hint_goes_to_the_quota_that_the_response_names_and_leaves_the_others_alone() {
    let keyed = KeyedLayer::new(resource, |_| free());
    let handle = keyed.handle();
    let stack = ServiceBuilder::new()
        .map_response(move |response: Response<()>| {
            let field = |name| response.headers().get(name)?.to_str().ok();
            if let (Some(resource), Some("0"), Some(reset)) = (
                field("x-ratelimit-resource"),
                field("x-ratelimit-remaining"),
                field("reset"),
            ) {
                let until = now() + Duration::from_secs(reset.parse().unwrap());
                handle.key(resource).pause_until(until.into_std());
            }
            response
        })
        .layer(keyed)
        .service(service_fn(async |request: Head| {
            // What it calls search is metered as code search.
            let empty = request.uri().path() == "/search";
            let mut response = Response::new(());
            if empty {
                for (name, value) in [
                    ("x-ratelimit-resource", "code_search"),
                    ("x-ratelimit-remaining", "0"),
                    ("reset", "60"),
                ] {
                    response.headers_mut().insert(name, value.parse().unwrap());
                }
            }
            Ok::<_, io::Error>(response)
        }));
    for path in ["api/search", "api/repos", "api/search"] {
        send(&stack, path).unwrap();
    }
    let refused = send(&stack, "api/search/code").unwrap_err();
    assert_eq!(refused.key.as_deref(), Some("code_search"));
    assert_eq!(refused.retry_after, Some(60.s()));
}
