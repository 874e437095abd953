//! What limits and hurts an upstream, and what is changed while it runs, under a paused clock.

use std::time::Duration;

use http_body_util::BodyExt;
use tidegate_testkit::{Exponential, Fixed, Report, Response, Upstream, most_in};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::support::{VERSIONS, client, get, ms, now};

/// The status of one response, read to its end.
async fn status(upstream: &Upstream) -> u16 {
    let response = upstream.direct().oneshot(get("/")).await.unwrap();
    let status = response.status().as_u16();
    response.into_body().collect().await.unwrap();
    status
}

fn counts(report: &Report) -> [u64; 5] {
    [
        report.arrivals,
        report.executed,
        report.served,
        report.limited,
        report.unanswered,
    ]
}

async fn statuses(upstream: &Upstream, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(status(upstream).await);
    }
    statuses
}

#[tokio::test(start_paused = true)]
async fn over_the_rate_nothing_is_executed() {
    let upstream = Upstream::unlimited().rate(100.0, 2).start_in_process();
    assert_eq!(statuses(&upstream, 4).await, [200, 200, 429, 429]);
    sleep(ms(10)).await;
    assert_eq!(statuses(&upstream, 2).await, [200, 429]);
    let report = upstream.report();
    assert_eq!(counts(&report), [6, 3, 3, 3, 0]);
    assert_eq!(
        report.by_status.into_iter().collect::<Vec<_>>(),
        [(200, 3), (429, 3)]
    );
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_kept_in_every_window_whoever_comes() {
    let upstream = Upstream::unlimited().rate(200.0, 10).start_in_process();
    for _ in 0..3_000 {
        status(&upstream).await;
        sleep(ms(1)).await;
    }
    let second = Duration::from_secs(1);
    let arrivals = upstream.arrivals();
    let executed = || arrivals.iter().filter_map(|arrival| arrival.executed);
    assert_eq!(upstream.most_arrivals_in(second), 1_000);
    assert_eq!(most_in(second, executed()), 209);
    assert_eq!(executed().count(), 609);
}

#[tokio::test(start_paused = true)]
async fn a_rate_tells_when_to_come_again_in_whole_seconds() {
    let upstream = Upstream::unlimited()
        .rate(0.4, 1)
        .limit_refusal(Response::new(503).header("x-tide", "high"))
        .retry_after()
        .start_in_process();
    assert_eq!(status(&upstream).await, 200);
    for (after, told) in [(0, "3"), (500, "2"), (1_999, "1")] {
        sleep(ms(after)).await;
        let response = upstream.direct().oneshot(get("/")).await.unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["x-tide"], "high");
        assert_eq!(response.headers()["retry-after"], told);
    }
    sleep(ms(1)).await;
    assert_eq!(status(&upstream).await, 200);
    upstream.set_rate(0.0);
    let response = upstream.direct().oneshot(get("/")).await.unwrap();
    assert!(!response.headers().contains_key("retry-after"));
}

#[tokio::test(start_paused = true)]
async fn windows_and_a_rate_stand_together() {
    let upstream = Upstream::unlimited()
        .window(3, ms(100))
        .window(4, ms(1_000))
        .rate(1_000.0, 2)
        .start_in_process();
    assert_eq!(statuses(&upstream, 3).await, [200, 200, 429]);
    sleep(ms(1)).await;
    assert_eq!(statuses(&upstream, 2).await, [200, 429]);
    sleep(ms(99)).await;
    assert_eq!(statuses(&upstream, 2).await, [200, 429]);
    sleep(ms(900)).await;
    assert_eq!(statuses(&upstream, 1).await, [200]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_set_while_it_runs() {
    let upstream = Upstream::unlimited().start_in_process();
    assert_eq!(statuses(&upstream, 3).await, [200; 3]);
    upstream.set_rate(10.0);
    assert_eq!(statuses(&upstream, 2).await, [200, 429]);
    upstream.set_rate(1_000.0);
    sleep(ms(1)).await;
    assert_eq!(statuses(&upstream, 2).await, [200, 429]);
    upstream.set_rate(f64::NAN);
    sleep(ms(1_000)).await;
    assert_eq!(status(&upstream).await, 429);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_says_what_it_was_told() {
    let refusal = Response::new(529)
        .header("retry-after", "7")
        .body("come back");
    let upstream = Upstream::workers(1)
        .queue(0)
        .service_time(Fixed(ms(20)))
        .refusal(refusal)
        .start_in_process();
    for version in VERSIONS {
        let client = client(&upstream, version);
        let served = tokio::spawn(client.request(get("/")));
        sleep(ms(1)).await;
        let refused = client.request(get("/")).await.unwrap();
        assert_eq!(refused.status(), 529);
        assert_eq!(refused.headers()["retry-after"], "7");
        let body = refused.into_body().collect().await.unwrap();
        assert_eq!(body.to_bytes(), "come back");
        served.await.unwrap().unwrap();
    }
    assert_eq!(upstream.report().refused, 2);
}

#[tokio::test(start_paused = true)]
async fn background_failures_are_a_share_and_leave_service_times_alone() {
    let run = async |share| {
        let upstream = Upstream::unlimited()
            .service_time(Exponential(ms(20)))
            .fail(share, 500)
            .seed(3)
            .start_in_process();
        let origin = now();
        statuses(&upstream, 1_000).await;
        let report = upstream.report();
        assert_eq!((report.executed, report.served), (1_000, 1_000));
        let failed = report.by_status.get(&500).copied();
        (failed.unwrap_or(0), now() - origin)
    };
    let (none, took) = run(0.0).await;
    let (some, took_with_some) = run(0.02).await;
    let (all, _) = run(1.0).await;
    assert_eq!((none, all), (0, 1_000));
    // Three standard deviations of a binomial of 1,000 and 0.02.
    assert!((7..=33).contains(&some), "{some}");
    assert_eq!(took, took_with_some);
}

#[tokio::test(start_paused = true)]
async fn failing_is_set_while_it_runs() {
    let upstream = Upstream::unlimited().fail(0.0, 502).start_in_process();
    for (share, expected) in [(1.0, 502), (0.0, 200), (9.0, 502), (f64::NAN, 200)] {
        upstream.set_failing(share);
        assert_eq!(statuses(&upstream, 20).await, [expected; 20]);
    }
}

#[tokio::test(start_paused = true)]
async fn latency_is_added_while_it_runs() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(20)))
        .start_in_process();
    for (latency, takes) in [(ms(0), ms(20)), (ms(150), ms(170)), (ms(0), ms(20))] {
        upstream.set_latency(latency);
        let origin = now();
        status(&upstream).await;
        assert_eq!(now() - origin, takes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_outage_accepts_and_answers_nobody_until_it_is_over() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(ms(20)))
        .start_in_process();
    for version in VERSIONS {
        let client = client(&upstream, version);
        let due_in_silence = tokio::spawn(client.request(get("/")));
        sleep(ms(10)).await;
        upstream.go_silent();
        let never = client.request(get("/"));
        timeout(Duration::from_secs(5), never).await.unwrap_err();
        upstream.speak();
        let origin = now();
        let response = client.request(get("/")).await.unwrap();
        assert_eq!((response.status().as_u16(), now() - origin), (200, ms(20)));
        sleep(Duration::from_secs(60)).await;
        assert!(!due_in_silence.is_finished());
        due_in_silence.abort();
    }
    assert_eq!(counts(&upstream.report()), [6, 4, 2, 0, 4]);
    assert_eq!(upstream.in_flight(), 0);
    assert!(upstream.report().by_fault.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_silence() {
    let upstream = Upstream::unlimited().start_in_process();
    upstream.go_silent();
    for version in VERSIONS {
        let client = client(&upstream, version);
        let waits = tokio::spawn(client.request(get("/")));
        sleep(ms(1)).await;
        assert!(!waits.is_finished());
    }
    let direct = tokio::spawn(upstream.direct().oneshot(get("/")));
    sleep(ms(1)).await;
    let origin = now();
    upstream.shutdown().await;
    assert_eq!(now(), origin);
    direct.await.unwrap().unwrap_err();
}
