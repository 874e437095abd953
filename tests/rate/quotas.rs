//! Several quotas on one request, and what it turns out to have cost.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tidegate::{
    IntoQuota, RateLayer, RefusedReason, Units, per_hour, per_minute, per_second, strict,
};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{Sends, now};

#[tokio::test(start_paused = true)]
async fn ten_a_minute_and_thirty_in_thirty_minutes_are_charged_all_or_none() {
    let half_hour = Duration::from_secs(1_800);
    let rate = RateLayer::strict(10, 60.s())
        .and(strict(30, half_hour))
        .max_wait(0.s());
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    for _ in 0..31 {
        let _refused = service.clone().oneshot(1).await;
        sleep(3_900.ms()).await;
    }
    // Ten in each minute; the others were not charged.
    assert_eq!(sends.all().len(), 20);
    sleep(60.s()).await;
    for left in (0..10).rev() {
        sleep(6.s()).await;
        service
            .clone()
            .oneshot(1)
            .await
            .unwrap_or_else(|_| panic!("{left} left"));
    }
    sleep(60.s()).await;
    let error = service.clone().oneshot(1).await.unwrap_err();
    let retry_after = error.refused().unwrap().retry_after.unwrap();
    assert_eq!(now() - sends.origin + retry_after, half_hour);
    sleep(retry_after).await;
    service.oneshot(1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_and_tokens_wait_for_each_other_and_the_first_comes_first() {
    let rate = RateLayer::per_second(10.0)
        .burst(10)
        .and(per_second(100.0).burst(100).cost(|cost: &u32| *cost));
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let costs = [60, 60, 1, 1, 10];
    join_all(costs.map(|cost| service.clone().oneshot(cost))).await;
    // The second waits for 20 tokens, and the others behind it.
    let all = sends.all();
    let at = |ms: u64, cost| (Duration::from_millis(ms), cost);
    assert_eq!(
        all,
        [at(0, 60), at(200, 60), at(210, 1), at(220, 1), at(320, 10)]
    );
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_or_is_refused_has_charged_none_of_several() {
    let rate = RateLayer::per_second(1.0)
        .burst(5)
        .and(per_second(10.0).burst(100).cost(|cost: &u32| *cost));
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    service.clone().oneshot(100).await.unwrap();
    let waits = (0..50).map(|_| timeout(50.ms(), service.clone().oneshot(50)));
    assert!(join_all(waits).await.iter().all(Result::is_err));
    handle.set_max_wait(Some(1.s()));
    let error = service.clone().oneshot(50).await.unwrap_err();
    let max_wait = 1.s();
    let refused = error.refused().unwrap();
    assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    assert_eq!(refused.retry_after, Some(4_950.ms()));
    handle.set_max_wait(None);
    sleep(4_950.ms()).await;
    service.oneshot(50).await.unwrap();
    assert_eq!(sends.millis(), [0, 5000]);
    // Five at first, one flowed in again, two were sent.
    let left = std::iter::from_fn(|| handle.acquire_each(&[1, 0]).now_or_never());
    assert_eq!(left.take(9).flatten().count(), 4);
}

#[tokio::test(start_paused = true)]
async fn each_quota_can_be_read_and_moved_while_others_wait() {
    let rate = RateLayer::per_second(10.0).and(per_hour(1.0));
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    assert_eq!(
        handle.paces(),
        [Some(per_second(10.0)), Some(per_hour(1.0))]
    );
    let calls = join_all((0..4).map(|_| service.clone().oneshot(1)));
    let moves = async {
        sleep(1.s()).await;
        handle.set_pace_of(1, Some(per_second(2.0)));
        sleep(1.s()).await;
        handle.set_pace_of(1, None);
    };
    let _ = tokio::join!(calls, moves);
    assert_eq!(sends.millis(), [0, 1500, 2000, 2100]);
}

/// A service of language models that says in its head and body what a request did cost.
fn model(
    takes: Duration,
) -> impl Service<Request<String>, Response = Response<Full<Bytes>>, Error = io::Error, Future: Send>
+ Clone {
    service_fn(move |request: Request<String>| async move {
        sleep(takes).await;
        let used = request.into_body();
        let body = format!("{{\"text\": \"…\", \"used\": {used}}}");
        Response::builder()
            .header("x-used", used)
            .body(Full::from(body))
            .map_err(io::Error::other)
    })
}

fn uses(tokens: u32) -> Request<String> {
    Request::new(tokens.to_string())
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_settled_by_the_head_of_the_response() {
    let rate = RateLayer::per_minute(500.0).burst(10).and(
        per_minute(6_000.0)
            .burst(1_000)
            .cost(|_: &Request<_>| 600)
            .settle(|response: &Response<_>| {
                response
                    .headers()
                    .get("x-used")?
                    .to_str()
                    .ok()?
                    .parse()
                    .ok()
            }),
    );
    let service = rate.layer(model(100.ms()));
    let started = now();
    // 400 of 1,000 are left, and 10 flow in; then 500 were not used.
    service.clone().oneshot(uses(100)).await.unwrap();
    service.clone().oneshot(uses(900)).await.unwrap();
    assert_eq!(now() - started, 200.ms());
    // 1,000 − 100 + 10, − 900 + 10: 20 are there, 580 are wanted.
    service.oneshot(uses(600)).await.unwrap();
    assert_eq!(now() - started, 200.ms() + 5_800.ms() + 100.ms());
}

#[tokio::test(start_paused = true)]
async fn an_estimate_is_settled_by_the_body_when_it_was_read() {
    let rate = RateLayer::per_minute(6_000.0)
        .burst(1_000)
        .cost(|_: &Request<_>| 600)
        .settle_body(|body: &[u8]| {
            let text = std::str::from_utf8(body).ok()?;
            let (_, used) = text.rsplit_once(": ")?;
            used.trim_end_matches('}').parse().ok()
        });
    let service = rate.layer(model(0.ms()));
    let handle = rate.handle();
    let response = service.clone().oneshot(uses(100)).await.unwrap();
    let two_hundred_ms = Some(2_000.ms());
    assert_eq!(
        handle.try_acquire(600).unwrap_err().retry_after,
        two_hundred_ms
    );
    response.into_body().collect().await.unwrap();
    handle.try_acquire(900).unwrap();
    assert!(handle.try_acquire(1).is_err());
    // One that nobody reads is not settled.
    sleep(10.s()).await;
    drop(service.clone().oneshot(uses(100)).await.unwrap());
    assert!(handle.try_acquire(401).is_err());
    handle.try_acquire(400).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_refund_is_no_more_than_would_be_there_without_the_charge() {
    let rate = RateLayer::per_second(10.0).burst(100).handle();
    rate.keep_charges();
    let first = rate.acquire_each(&[100]).await.unwrap();
    sleep(10.s()).await;
    let second = rate.acquire_each(&[100]).await.unwrap();
    // The bucket was full again before the second.
    rate.correct(&first, 0, 0);
    assert_eq!(rate.try_acquire(1).unwrap_err().retry_after, Some(100.ms()));
    rate.correct(&second, 0, 90);
    rate.try_acquire(10).unwrap();
    assert!(rate.try_acquire(1).is_err());
    // And a debt keeps the others out.
    let third = rate.acquire_each(&[1]).await.unwrap();
    rate.correct(&third, 0, 21);
    assert_eq!(
        rate.try_acquire(1).unwrap_err().retry_after,
        Some(2_100.ms())
    );
}

#[tokio::test(start_paused = true)]
async fn a_strict_window_is_settled_in_its_own_time() {
    let rate = RateLayer::strict(100, 1.s()).handle();
    let first = rate.acquire_each(&[50]).await.unwrap();
    sleep(500.ms()).await;
    let second = rate.acquire_each(&[50]).await.unwrap();
    rate.correct(&second, 0, 20);
    rate.correct(&first, 0, 40);
    rate.try_acquire(40).unwrap();
    // At 1,000 the 40 of the first leave.
    assert_eq!(
        rate.try_acquire(40).unwrap_err().retry_after,
        Some(500.ms())
    );
    assert_eq!(
        rate.try_acquire(41).unwrap_err().retry_after,
        Some(1_000.ms())
    );
}
