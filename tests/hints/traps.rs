//! Each way in which a hint can be misread.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tidegate::{GateLayer, Jitter, Profile, Refused, RefusedReason, RetryLayer, Units};
use tokio::time::timeout;
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::support::assert_free;
use crate::{Server, answer, get};

type Headers<'a> = &'a [(&'a str, &'a str)];

/// 21 October 2015, 07:28:00, as all servers here say in their `Date`.
const DATE: (&str, &str) = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
const EPOCH: u64 = 1_445_412_480;
/// A second divided by the limit, which is ten, or one when nothing remained of a quota; and a tick of the
/// timer.
fn jitter(headers: Headers<'_>) -> Duration {
    let quota = headers.iter().any(|(name, _)| name.contains("ratelimit"));
    Duration::from_millis(if quota { 1_001 } else { 101 })
}

/// When the second request is sent, if the first one is answered so; or how it is refused.
async fn second(profile: Profile, status: u16, headers: Headers<'_>) -> Result<Duration, Refused> {
    let server = Server::new();
    let first = answer(status, headers);
    let mut first = Some(first);
    let service = GateLayer::new(10)
        .hints(profile)
        .layer(server.service(move |_, _| {
            let response = first.take().unwrap_or_else(|| answer(200, &[]));
            (Duration::ZERO, response)
        }));
    service.clone().oneshot(get("/")).await.unwrap();
    match service.clone().oneshot(get("/")).await {
        Ok(_) => Ok(server.sends()[1]),
        Err(error) => {
            assert_eq!(server.at(), Duration::ZERO, "it is refused at once");
            assert_eq!(server.sends().len(), 1);
            let refused = error.refused().expect("a refusal").clone();
            // And nobody else is sent within an hour.
            let others = async {
                loop {
                    assert!(service.clone().oneshot(get("/")).await.is_err());
                    tokio::time::sleep(1.s()).await;
                }
            };
            let known = refused.retry_after.unwrap();
            let hour = Duration::from_secs(3_540).min(known.saturating_sub(61.s()));
            assert!(timeout(hour, others).await.is_err());
            assert_eq!(server.sends().len(), 1);
            Err(refused)
        }
    }
}

/// The second is sent after this, and hardly later.
async fn sends_after(profile: Profile, status: u16, headers: Headers<'_>, wait: Duration) {
    let sent = second(profile, status, headers).await.unwrap();
    let most = if wait.is_zero() {
        wait
    } else {
        wait + jitter(headers)
    };
    assert!(wait <= sent && sent <= most, "{headers:?}: {sent:?}");
}

/// The second is refused, and told this.
async fn refuses(profile: Profile, status: u16, headers: Headers<'_>, wait: Duration) {
    let refused = second(profile, status, headers).await.unwrap_err();
    let longest = 60.s();
    assert_eq!(refused.reason, RefusedReason::Paused { longest });
    let told = refused.retry_after.unwrap();
    assert!(told >= wait, "{headers:?}: {told:?}");
}

fn retry_after(value: &str) -> [(&str, &str); 2] {
    [DATE, ("retry-after", value)]
}

#[tokio::test(start_paused = true)]
async fn a_fraction_of_a_second_is_waited_and_rounded_up() {
    for (value, micros) in [
        ("0.503", 503_000),
        ("0.314", 314_000),
        ("1.5", 1_500_000),
        (" 2.5 ", 2_500_000),
        ("0.0000001", 1),
        ("59.999", 59_999_000),
    ] {
        let wait = Duration::from_nanos(if micros == 1 { 100 } else { micros * 1_000 });
        sends_after(Profile::Ietf, 429, &retry_after(value), wait).await;
    }
    refuses(
        Profile::Ietf,
        429,
        &retry_after("299.997"),
        Duration::from_millis(299_997),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_moment_that_is_past_asks_for_no_wait() {
    for date in [
        "Wed, 21 Oct 2015 07:27:55 GMT",
        "Mon, 01 Jan 2001 00:00:00 GMT",
        DATE.1,
    ] {
        sends_after(Profile::Ietf, 429, &retry_after(date), Duration::ZERO).await;
    }
    for reset in [EPOCH - 5, EPOCH] {
        let reset = reset.to_string();
        let headers = [
            DATE,
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", &reset),
        ];
        sends_after(Profile::GitHub, 403, &headers, Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_beyond_reckoning_is_never_an_immediate_retry() {
    let digits = "9".repeat(400);
    for value in [
        "Fri, 31 Dec 9999 23:59:59 GMT",
        &digits,
        "9223372036854775807",
        "9223372037",
        "9223372036",
        "2147484",
    ] {
        refuses(Profile::Ietf, 429, &retry_after(value), 2_147_484.s()).await;
        let headers = [
            DATE,
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", value),
        ];
        if value.len() > 10 && !value.starts_with("Fri") {
            refuses(Profile::GitHub, 200, &headers, 2_147_484.s()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sixty_seconds_are_waited_and_more_is_refused_with_the_hint() {
    sends_after(Profile::Ietf, 429, &retry_after("60"), 60.s()).await;
    for seconds in [61, 600, 86_400] {
        let refused = second(Profile::Ietf, 429, &retry_after(&seconds.to_string())).await;
        assert_eq!(
            refused.unwrap_err().retry_after,
            Some(Duration::from_secs(seconds))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_ten_seconds_is_told_thirty_at_once() {
    let server = Server::new();
    let gate = GateLayer::new(10).max_wait(10.s()).hints(Profile::Ietf);
    let service =
        gate.layer(server.service(|_, _| (Duration::ZERO, answer(429, &[("retry-after", "30")]))));
    service.clone().oneshot(get("/")).await.unwrap();
    let error = service.oneshot(get("/")).await.unwrap_err();
    assert_eq!(server.at(), Duration::ZERO);
    assert_eq!(error.refused().unwrap().retry_after, Some(30.s()));
}

#[tokio::test(start_paused = true)]
async fn a_reset_is_read_in_its_unit_or_not_at_all() {
    let spent = |reset| {
        [
            DATE,
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", reset),
        ]
    };
    let (seconds, millis) = ((EPOCH + 50).to_string(), ((EPOCH + 50) * 1_000).to_string());
    for reset in [&seconds, &millis, "50"] {
        sends_after(Profile::Sniff, 200, &spent(reset), 50.s()).await;
    }
    refuses(Profile::Sniff, 200, &spent("3600"), 3_600.s()).await;
    for undecidable in ["0", "1000000", "1625481641", "-5", "1e3"] {
        sends_after(Profile::Sniff, 200, &spent(undecidable), Duration::ZERO).await;
    }
    sends_after(Profile::GitHub, 200, &spent(&seconds), 50.s()).await;
    sends_after(Profile::GitHub, 200, &spent("50"), Duration::ZERO).await;
    sends_after(Profile::Reddit, 200, &spent("50"), 50.s()).await;
}

/// Of a server that has no `Date`, and ours, since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "no clock of the tests is compared with the server's"
)]
fn wall_clock() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

#[tokio::test(start_paused = true)]
async fn with_a_date_a_clock_that_is_wrong_makes_nobody_early_and_without_one_it_is_as_wrong() {
    // Ours is years off the server's.
    let reset = (EPOCH + 10).to_string();
    let spent = [
        DATE,
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", &reset),
    ];
    sends_after(Profile::GitHub, 200, &spent, 10.s()).await;

    for skew in [-3, 0, 3] {
        let before = wall_clock();
        let reset = before.as_secs().checked_add_signed(10 + skew).unwrap();
        let text = reset.to_string();
        let spent = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &text)];
        let at = second(Profile::GitHub, 200, &spent).await.unwrap();
        let wait = |since| Duration::from_secs(reset).saturating_sub(since);
        let within = wait(wall_clock()) <= at && at <= wait(before) + jitter(&spent);
        assert!(within, "{skew}: {at:?}");
    }
    // What is relative wins.
    let reset = (wall_clock().as_secs() + 300).to_string();
    let both = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
        ("x-ratelimit-reset-after", "10.5"),
    ];
    sends_after(Profile::Discord, 429, &both, Duration::from_millis(10_500)).await;
}

#[tokio::test(start_paused = true)]
async fn zero_is_no_permission_to_hammer() {
    sends_after(Profile::Ietf, 429, &retry_after("0"), Duration::ZERO).await;
    let server = Server::new();
    let gate = GateLayer::new(1).hints(Profile::Ietf);
    let service = gate.layer(server.service(|_, _| {
        (
            Duration::from_millis(1),
            answer(429, &[("retry-after", "0")]),
        )
    }));
    let caller = async {
        loop {
            service.clone().oneshot(get("/")).await.unwrap();
        }
    };
    assert!(timeout(60.s(), caller).await.is_err());
    let sends = server.sends();
    let within = |seconds| {
        sends
            .iter()
            .filter(|at| **at < Duration::from_secs(seconds))
            .count()
    };
    assert!(within(2) <= 6, "{sends:?}");
    assert!(within(60) <= 62, "{}", within(60));
}

#[tokio::test(start_paused = true)]
async fn zero_does_not_shorten_the_back_off_of_a_retry() {
    let server = Server::new();
    let stack = ServiceBuilder::new()
        .layer(
            RetryLayer::exponential(500.ms()..5.s())
                .jitter(Jitter::None)
                .attempts(5),
        )
        .layer(GateLayer::new(10).hints(Profile::Ietf))
        .service(server.service(|_, _| (1.ms(), answer(429, &[("retry-after", "0")]))));
    let ended = timeout(30.s(), stack.oneshot(get("/"))).await;
    assert_eq!(ended.unwrap().unwrap().status(), 429);
    // Half a second and twice as long each time, after an answer of a millisecond.
    let sends = server.sends();
    assert_eq!(
        sends,
        [0, 501, 1_502, 3_503, 7_504].map(|ms: u64| ms.ms()),
        "{sends:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_quotas_of_a_cached_answer_are_old_and_its_wait_counts_in_full() {
    let spent = ("ratelimit", r#""default";r=0;t=50"#);
    sends_after(Profile::Ietf, 200, &[("age", "30"), spent], Duration::ZERO).await;
    sends_after(Profile::Ietf, 200, &[("age", "0"), spent], 50.s()).await;
    let cached = [("age", "30"), ("retry-after", "40"), spent];
    sends_after(Profile::Ietf, 429, &cached, 40.s()).await;
}

#[tokio::test(start_paused = true)]
async fn three_generations_of_a_header_ask_for_the_same_wait() {
    let old = [
        ("ratelimit-limit", "100"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "50"),
    ];
    let one: Headers<'_> = &[("ratelimit", "limit=100, remaining=0, reset=50")];
    let list: Headers<'_> = &[
        ("ratelimit", r#""default";r=0;t=50"#),
        ("ratelimit-policy", r#""default";q=100;w=60"#),
    ];
    let bare: Headers<'_> = &[("ratelimit", "default;r=0;t=50")];
    for headers in [&old, one, list, bare] {
        sends_after(Profile::Ietf, 200, headers, 50.s()).await;
    }
    // What the service asks for in plain words comes before a reset.
    let both = [
        ("retry-after", "20"),
        ("ratelimit", r#""default";r=0;t=50"#),
    ];
    sends_after(Profile::Ietf, 429, &both, 20.s()).await;
    // Several policies: the one that binds.
    let several = [("ratelimit", r#""burst";r=0;t=30,"daily";r=700;t=4000"#)];
    sends_after(Profile::Ietf, 200, &several, 30.s()).await;
}

#[tokio::test(start_paused = true)]
async fn free_text_is_no_number() {
    for reset in [
        "Tue Feb 16 2021 09:02:42 GMT+0100",
        "100, 100;window=60",
        "soon",
        "",
    ] {
        let spent = [
            DATE,
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", reset),
        ];
        for profile in [
            Profile::GitHub,
            Profile::Sniff,
            Profile::Reddit,
            Profile::Discord,
        ] {
            sends_after(profile, 200, &spent, Duration::ZERO).await;
        }
        sends_after(Profile::Ietf, 429, &retry_after(reset), Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_one_caller_is_asked_for_pauses_nobody_else() {
    for status in [200, 202, 301, 404] {
        sends_after(Profile::Ietf, status, &retry_after("30"), Duration::ZERO).await;
    }
    sends_after(Profile::Ietf, 503, &retry_after("30"), 30.s()).await;
    sends_after(Profile::GitHub, 403, &retry_after("30"), 30.s()).await;
}

#[tokio::test(start_paused = true)]
async fn a_shorter_hint_does_not_shorten_a_pause() {
    let server = Server::new();
    let gate = GateLayer::new(10).hints(Profile::Ietf);
    let handle = gate.handle();
    let service = gate.layer(server.service(|_, nth| match nth {
        0 => (1.s(), answer(429, &[("retry-after", "30")])),
        1 => (2.s(), answer(429, &[("retry-after", "5")])),
        _ => (Duration::ZERO, answer(200, &[])),
    }));
    let first = tokio::spawn(service.clone().oneshot(get("/")));
    let other = tokio::spawn(service.clone().oneshot(get("/")));
    first.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    service.oneshot(get("/")).await.unwrap();
    let sent = server.sends()[2];
    assert!(sent >= 31.s() && sent <= 31.s() + jitter(&[]), "{sent:?}");
    tokio::time::sleep(2.s()).await;
    assert_free(&handle, 10);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_always_refused_without_a_word_holds_up_nobody() {
    let server = Server::new();
    let gate = GateLayer::new(10).hints(Profile::Ietf);
    let service = gate.layer(server.service(|path, _| match path {
        "/refused" => (Duration::from_millis(5), answer(429, &[])),
        _ => (Duration::from_millis(50), answer(200, &[])),
    }));
    let refused = async {
        loop {
            assert_eq!(
                service
                    .clone()
                    .oneshot(get("/refused"))
                    .await
                    .unwrap()
                    .status(),
                429
            );
            tokio::time::sleep(1.s()).await;
        }
    };
    let median_of = async |mut times: Vec<Duration>| {
        for _ in 0..5_000 {
            let asked = server.at();
            service.clone().oneshot(get("/")).await.unwrap();
            times.push(server.at().saturating_sub(asked));
        }
        times.sort();
        times[2_500]
    };
    let median = tokio::select! {
        () = refused => unreachable!("it has no end"),
        median = median_of(Vec::new()) => median,
    };
    assert_eq!(median, Duration::from_millis(50));
}
