//! A meter of which a request takes more than one, under a paused clock.

use std::time::Duration;

use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use tidegate_testkit::{Fixed, Response, Upstream, UpstreamBuilder};
use tokio::time::sleep;
use tower::ServiceExt;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Ten requests and a hundred tokens a second, and a second's worth of each at once; a request costs
/// what its body says.
fn model() -> UpstreamBuilder {
    let cost = |body: &[u8]| str::from_utf8(body).unwrap().parse().unwrap();
    Upstream::unlimited()
        .rate(10.0, 10)
        .tokens(100.0, 100, move |request| cost(request.body()))
}

async fn send(upstream: &Upstream, cost: u32) -> (StatusCode, HeaderMap) {
    let request = Request::post("http://upstream.test/").body(cost.to_string());
    let response = upstream.direct().oneshot(request.unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    body.collect().await.unwrap();
    (head.status, head.headers)
}

#[tokio::test(start_paused = true)]
async fn who_finds_too_few_tokens_is_refused_and_has_used_a_request() {
    let upstream = model().start_in_process();
    for (cost, status) in [(70, 200), (40, 429), (30, 200), (1, 429), (0, 200)] {
        assert_eq!(send(&upstream, cost).await.0, status, "{cost}");
    }
    let report = upstream.report();
    assert_eq!((report.served, report.limited), (3, 2));
    assert_eq!(
        (report.executed, report.tokens, report.in_flight),
        (3, 100, 0)
    );
    for _ in 0..5 {
        assert_eq!(send(&upstream, 0).await.0, 200);
    }
    assert_eq!(send(&upstream, 0).await.0, 429, "ten requests were sent");
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_corrected_when_the_response_has_ended() {
    let upstream = model()
        .service_time(Fixed(ms(10)))
        .respond(|_| Response::new(200).chunks(2, "tide", ms(10)).used(20))
        .start_in_process();
    let early = async {
        sleep(ms(19)).await;
        send(&upstream, 50).await.0
    };
    let (first, early) = tokio::join!(send(&upstream, 90), early);
    assert_eq!(
        (first.0, early),
        (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS)
    );
    assert_eq!(upstream.report().tokens, 20);
    // 100 − 90 + 2 + 70.
    assert_eq!(send(&upstream, 83).await.0, 429);
    assert_eq!(send(&upstream, 82).await.0, 200);
    assert_eq!(upstream.report().tokens, 40);
}

#[tokio::test(start_paused = true)]
async fn the_fields_of_openai_say_how_both_meters_stand() {
    let upstream = model().openai_fields().retry_after().start_in_process();
    let (_, first) = send(&upstream, 60).await;
    let (status, refused) = send(&upstream, 90).await;
    assert_eq!(status, 429);
    for (field, at_first, then) in [
        ("x-ratelimit-limit-requests", "10", "10"),
        ("x-ratelimit-remaining-requests", "9", "8"),
        ("x-ratelimit-reset-requests", "100ms", "200ms"),
        ("x-ratelimit-limit-tokens", "100", "100"),
        ("x-ratelimit-remaining-tokens", "40", "40"),
        ("x-ratelimit-reset-tokens", "600ms", "600ms"),
    ] {
        assert_eq!(first[field], at_first, "{field}");
        assert_eq!(refused[field], then, "{field}");
    }
    assert_eq!(refused["retry-after-ms"], "500");
    assert_eq!(refused["retry-after"], "1");
    // More than it ever holds: no time would help.
    let (status, refused) = send(&upstream, 101).await;
    assert_eq!(status, 429);
    assert_eq!(refused.get("retry-after-ms"), None);
}
