//! Every service's own fields: value, time of reception, wait.

use std::time::Duration;

use http::StatusCode;
use tidegate_classify::{Hints, Profile, Quota, Unit, Wait};

use crate::support::{NOW, at, headers, millis, parse, secs};

/// Each row: what is sent, when it is received, and how long to wait.
fn table(profile: Profile, rows: &[(&str, u64, Option<Duration>)]) {
    for (lines, received_at, wait) in rows {
        let hints = Hints::parse(&headers(lines), at(*received_at), profile);
        assert_eq!(
            hints.wait(),
            *wait,
            "{profile:?}: {lines:?} at {received_at}"
        );
    }
}

#[test]
fn retry_after_is_seconds_or_a_date_counted_from_the_response_s_own() {
    let rows = [
        ("Retry-After: 120", NOW, secs(120)),
        ("Retry-After: Tue, 14 Nov 2023 22:15:20 GMT", NOW, secs(120)),
        (
            "Retry-After: Tuesday, 14-Nov-23 22:15:20 GMT",
            NOW,
            secs(120),
        ),
        ("Retry-After: Tue Nov 14 22:15:20 2023", NOW, secs(120)),
        (
            "Retry-After: Tue, 14 Nov 2023 22:15:20 GMT\nDate: Tue, 14 Nov 2023 22:15:00 GMT",
            NOW,
            secs(20),
        ),
        ("Retry-After: Tue, 14 Nov 2023 22:13:20 GMT", NOW, None),
        (
            "Retry-After: 5\nRetry-After: 9\nRetry-After: 7",
            NOW,
            secs(9),
        ),
    ];
    for profile in [
        Profile::Ietf,
        Profile::Slack,
        Profile::Stripe,
        Profile::GitHub,
    ] {
        table(profile, &rows);
    }
}

#[test]
fn the_ietf_s_lists_join_items_to_their_policies_and_the_binding_one_counts() {
    let lines = "RateLimit-Policy: \"burst\";q=100;w=60,\"daily\";q=1000;w=86400
RateLimit: \"burst\";r=0;t=30,\"daily\";r=700;t=4000";
    table(
        Profile::Ietf,
        &[
            (lines, NOW, secs(30)),
            ("RateLimit: \"burst\";r=50;t=30", NOW, None),
            ("RateLimit: \"burst\";r=0;t=30", NOW, secs(30)),
            ("RateLimit: \"burst\";r=0;t=30.5", NOW, millis(30_500)),
            ("RateLimit: \"burst\";r=0", NOW, None),
            (
                "RateLimit: \"a\";r=0;t=5\nRateLimit: \"b\";r=0;t=9,\"c\";r=3;t=90",
                NOW,
                secs(9),
            ),
            ("RateLimit: \"a\";r=0;t=50\nRetry-After: 7", NOW, secs(7)),
            ("RateLimit: \"a\";r=0;t=50\nAge: 1", NOW, None),
            ("RateLimit: \"a\";r=0;t=50\nAge: 0", NOW, secs(50)),
            // A key that comes twice counts where it comes last (RFC 9651).
            ("RateLimit: \"a\";r=9;t=9;r=0", NOW, secs(9)),
            ("RateLimit: \"a\";r=0;t=9;x=(1)", NOW, None),
        ],
    );
    let hints = parse(Profile::Ietf, lines);
    let burst = Quota {
        name: Some("burst".into()),
        limit: Some(100),
        remaining: Some(0),
        reset: secs(30),
        window: secs(60),
        unit: Unit::Requests,
    };
    assert_eq!(hints.binding(), Some(&burst));
    assert_eq!(hints.quotas.len(), 2);
    assert_eq!(hints.ignored, 0);
}

#[test]
fn a_limit_of_concurrent_requests_is_a_quota_of_that_unit() {
    let hints = parse(
        Profile::Ietf,
        "RateLimit-Policy: \"open\";q=10;qu=\"concurrent-requests\",\"read\";q=5;qu=\"pages\"",
    );
    let units: Vec<_> = hints
        .quotas
        .iter()
        .map(|quota| (quota.limit, quota.unit))
        .collect();
    assert_eq!(
        units,
        [(Some(10), Unit::ConcurrentRequests), (Some(5), Unit::Other)]
    );
    assert_eq!(hints.wait(), None);
}

#[test]
fn the_ietf_s_older_fields_are_seconds_and_gitlab_s_epoch_is_seen() {
    let spent = "RateLimit-Remaining: 0\nRateLimit-Reset: ";
    let row = |lines: &str| spent.to_owned() + lines;
    table(
        Profile::Ietf,
        &[
            ("RateLimit: limit=10, remaining=5, reset=7", NOW, None),
            ("RateLimit: limit=10, remaining=0, reset=7", NOW, secs(7)),
            (&row("7\nRateLimit-Limit: 10"), NOW, secs(7)),
            (&row("7\nRateLimit-Limit: 100, 100;w=60"), NOW, secs(7)),
            (&row("1700000030"), NOW, secs(30)),
            (&row("1700000030"), NOW - 20, secs(50)),
            (&row("1700000030"), NOW + 30, None),
            (&row("Tue Feb 16 2021 09:02:42 GMT+0100"), NOW, None),
        ],
    );
    let hints = parse(
        Profile::Ietf,
        &row("7\nRateLimit-Limit: 100, 50;w=1, 100;w=60"),
    );
    assert_eq!(hints.quotas[0].limit, Some(100));
    assert_eq!(hints.quotas[0].window, secs(60));
}

#[test]
fn github_resets_at_an_epoch_per_resource() {
    let lines = "x-ratelimit-limit: 30\nx-ratelimit-remaining: 0\nx-ratelimit-used: 30
x-ratelimit-reset: 1700000042\nx-ratelimit-resource: search";
    table(
        Profile::GitHub,
        &[
            (lines, NOW, secs(42)),
            (lines, NOW + 42, None),
            (lines, NOW + 4200, None),
            (
                "x-ratelimit-remaining: 1\nx-ratelimit-reset: 1700000042",
                NOW,
                None,
            ),
            ("x-ratelimit-remaining: 0\nx-ratelimit-reset: 50", NOW, None),
        ],
    );
    let hints = parse(Profile::GitHub, lines);
    assert_eq!(hints.scope.as_deref(), Some("search"));
    assert_eq!(hints.quotas[0].limit, Some(30));
}

#[test]
fn github_throttles_with_403_and_its_silence_costs_a_minute_that_is_labelled_ours() {
    let spent = parse(
        Profile::GitHub,
        "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000042",
    );
    let asked = parse(
        Profile::GitHub,
        "retry-after: 90\nx-ratelimit-remaining: 4000",
    );
    let silent = parse(
        Profile::GitHub,
        "x-ratelimit-remaining: 4000\nx-ratelimit-reset: 1700000042",
    );
    for (hints, forbidden, wait) in [
        (&spent, true, Wait::Said(Duration::from_secs(42))),
        (&asked, true, Wait::Said(Duration::from_secs(90))),
        (&silent, false, Wait::Invented(Duration::from_secs(60))),
    ] {
        let throttles = |status| Profile::GitHub.throttles(status, hints);
        assert_eq!(throttles(StatusCode::FORBIDDEN), forbidden);
        assert!(throttles(StatusCode::TOO_MANY_REQUESTS));
        assert!(!throttles(StatusCode::OK));
        assert!(!Profile::Ietf.throttles(StatusCode::FORBIDDEN, hints));
        assert_eq!(Profile::GitHub.wait(hints), Some(wait));
    }
    assert_eq!(Profile::Ietf.wait(&silent), None);
}

#[test]
fn x_has_hyphens_and_windows_of_a_quarter_of_an_hour() {
    let lines =
        "x-rate-limit-limit: 900\nx-rate-limit-remaining: 0\nx-rate-limit-reset: 1700000600";
    table(
        Profile::X,
        &[(lines, NOW, secs(600)), (lines, NOW + 601, None)],
    );
    assert_eq!(parse(Profile::X, lines).quotas[0].window, secs(900));
    assert_eq!(parse(Profile::GitHub, lines), Hints::default());
}

#[test]
fn reddit_uses_github_s_names_for_seconds_from_now() {
    let lines = "X-Ratelimit-Used: 600\nX-Ratelimit-Remaining: 0.0\nX-Ratelimit-Reset: 312";
    table(
        Profile::Reddit,
        &[
            (lines, NOW, secs(312)),
            (
                "X-Ratelimit-Remaining: 596.0\nX-Ratelimit-Reset: 312",
                NOW,
                None,
            ),
            // Half a request cannot be sent.
            (
                "X-Ratelimit-Remaining: 0.5\nX-Ratelimit-Reset: 312",
                NOW,
                secs(312),
            ),
        ],
    );
    let hints = parse(
        Profile::Reddit,
        "X-Ratelimit-Used: 4\nX-Ratelimit-Remaining: 596.0",
    );
    assert_eq!(
        (hints.quotas[0].limit, hints.quotas[0].remaining),
        (Some(600), Some(596))
    );
}

#[test]
fn openai_s_resets_are_durations_as_go_prints_them_in_any_dimension() {
    let spent = "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: ";
    for (reset, wait) in [
        ("1s", secs(1)),
        ("6m0s", secs(360)),
        ("12ms", millis(12)),
        ("1h2m3.5s", millis(3_723_500)),
        ("20.342s", millis(20_342)),
        ("350µs", Some(Duration::from_micros(350))),
        ("350us", Some(Duration::from_micros(350))),
        ("7ns", Some(Duration::from_nanos(7))),
        ("0s", None),
        ("5", secs(5)),
        ("5 s", None),
        ("5d", None),
        ("s", None),
        ("-5s", None),
        ("1s5", None),
        ("", None),
    ] {
        let lines = format!("{spent}{reset}");
        table(Profile::OpenAi, &[(&lines, NOW, wait)]);
    }
    let hints = parse(
        Profile::OpenAi,
        "x-ratelimit-limit-requests: 60\nx-ratelimit-remaining-requests: 59
x-ratelimit-reset-requests: 1s\nx-ratelimit-limit-tokens: 150000
x-ratelimit-remaining-tokens: 1000\nx-ratelimit-reset-tokens: 6m0s
x-ratelimit-limit-project-tokens: 5\nx-ratelimit-remaining-images: 0",
    );
    let binding = hints.binding().unwrap();
    assert_eq!(binding.name.as_deref(), Some("tokens"));
    assert_eq!(binding.unit, Unit::Tokens);
    assert_eq!(binding.limit, Some(150_000));
    let names: Vec<_> = hints
        .quotas
        .iter()
        .map(|quota| quota.name.as_deref())
        .collect();
    let expected = ["images", "project-tokens", "requests", "tokens"];
    assert_eq!(names, expected.map(Some));
}

#[test]
fn azure_s_milliseconds_come_before_retry_after() {
    table(
        Profile::AzureOpenAi,
        &[
            (
                "retry-after-ms: 1500\nx-ms-retry-after-ms: 1700\nRetry-After: 2",
                NOW,
                millis(1500),
            ),
            (
                "x-ms-retry-after-ms: 1700\nRetry-After: 2",
                NOW,
                millis(1700),
            ),
            ("Retry-After: 2", NOW, secs(2)),
            (
                "retry-after-ms: -1\nx-ms-retry-after-ms: 0\nRetry-After: 2",
                NOW,
                secs(2),
            ),
            ("retry-after-ms: 0", NOW, None),
            (
                "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 10",
                NOW,
                secs(10),
            ),
            (
                "x-ratelimit-remaining-requests: -1\nx-ratelimit-reset-requests: 10",
                NOW,
                None,
            ),
            (
                "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: -1",
                NOW,
                None,
            ),
            (
                "x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 0",
                NOW,
                None,
            ),
        ],
    );
    assert_eq!(parse(Profile::Ietf, "retry-after-ms: 1500").wait(), None);
}

#[test]
fn anthropic_s_resets_are_timestamps() {
    let spent = "anthropic-ratelimit-input-tokens-limit: 50000
anthropic-ratelimit-input-tokens-remaining: 0
anthropic-ratelimit-input-tokens-reset: ";
    for (reset, wait) in [
        ("2023-11-14T22:14:20Z", secs(60)),
        ("2023-11-15T00:14:20+02:00", secs(60)),
        ("2023-11-14T22:14:20.25Z", millis(60_250)),
        ("2023-11-14T22:13:20Z", None),
        ("1969-11-14T22:13:20Z", None),
        ("2023-11-14T22:14:20", None),
        ("60", None),
    ] {
        table(
            Profile::Anthropic,
            &[(&format!("{spent}{reset}"), NOW, wait)],
        );
    }
    table(
        Profile::Anthropic,
        &[(
            &format!("{spent}2023-11-14T22:14:20Z\nretry-after: 7"),
            NOW,
            secs(7),
        )],
    );
    let hints = parse(
        Profile::Anthropic,
        "anthropic-ratelimit-requests-limit: 50\nanthropic-ratelimit-requests-remaining: 49
anthropic-ratelimit-requests-reset: 2023-11-14T22:13:22Z
anthropic-ratelimit-output-tokens-limit: 8000
anthropic-ratelimit-output-tokens-remaining: 100
anthropic-ratelimit-output-tokens-reset: 2023-11-14T22:14:20Z",
    );
    assert_eq!(
        hints.binding().unwrap().name.as_deref(),
        Some("output-tokens")
    );
    assert_eq!(hints.quotas[1].unit, Unit::Requests);
}

#[test]
fn shopify_says_used_of_size_without_a_reset_and_asks_with_a_fraction() {
    table(
        Profile::Shopify,
        &[
            (
                "X-Shopify-Shop-Api-Call-Limit: 40/40\nRetry-After: 2.0",
                NOW,
                secs(2),
            ),
            ("X-Shopify-Shop-Api-Call-Limit: 40/40", NOW, None),
            ("X-Shopify-Shop-Api-Call-Limit: 32", NOW, None),
        ],
    );
    let left = |value: &str| {
        let hints = parse(
            Profile::Shopify,
            &format!("X-Shopify-Shop-Api-Call-Limit: {value}"),
        );
        hints
            .quotas
            .first()
            .map(|quota| (quota.limit.unwrap(), quota.remaining.unwrap()))
    };
    assert_eq!(left("32/40"), Some((40, 8)));
    assert_eq!(left("41/40"), Some((40, 0)));
    assert_eq!(left("32/40/1"), None);
}

#[test]
fn discord_s_relative_reset_comes_before_its_epoch_and_the_bucket_is_the_scope() {
    let spent = "X-RateLimit-Limit: 5\nX-RateLimit-Remaining: 0\nX-RateLimit-Bucket: abcd1234\n";
    let row = |lines: &str| spent.to_owned() + lines;
    table(
        Profile::Discord,
        &[
            (&row("X-RateLimit-Reset: 1700000001.5"), NOW, millis(1500)),
            (
                &row("X-RateLimit-Reset: 1700000001.5\nX-RateLimit-Reset-After: 1.25"),
                NOW,
                millis(1250),
            ),
            (&row("X-RateLimit-Reset-After: 0.064"), NOW, millis(64)),
        ],
    );
    assert_eq!(
        parse(Profile::Discord, spent).scope.as_deref(),
        Some("abcd1234")
    );
    let global = parse(
        Profile::Discord,
        &row("X-RateLimit-Global: true\nRetry-After: 65"),
    );
    assert_eq!(global.scope.as_deref(), Some("global"));
    assert_eq!(global.wait(), secs(65));
}

#[test]
fn slack_says_retry_after_alone() {
    table(Profile::Slack, &[("Retry-After: 30", NOW, secs(30))]);
}

#[test]
fn salesforce_says_what_is_used_of_a_day_and_throttles_with_403() {
    let lines = "Sforce-Limit-Info: api-usage=18/5000; per-app-api-usage=17/250(appName=x)";
    let hints = parse(Profile::Salesforce, lines);
    let quotas: Vec<_> = hints
        .quotas
        .iter()
        .map(|quota| {
            (
                quota.name.as_deref().unwrap(),
                quota.limit,
                quota.remaining,
                quota.window,
            )
        })
        .collect();
    assert_eq!(
        quotas,
        [
            ("api-usage", Some(5000), Some(4982), secs(86_400)),
            ("per-app-api-usage", Some(250), Some(233), secs(86_400)),
        ]
    );
    let spent = parse(
        Profile::Salesforce,
        "Sforce-Limit-Info: api-usage=5000/5000",
    );
    assert_eq!((hints.wait(), spent.wait()), (None, None));
    let forbidden = |hints| Profile::Salesforce.throttles(StatusCode::FORBIDDEN, hints);
    assert_eq!((forbidden(&hints), forbidden(&spent)), (false, true));
}

#[test]
fn google_pushes_back_in_milliseconds_and_for_ever_below_zero() {
    table(
        Profile::Google,
        &[
            ("grpc-retry-pushback-ms: 3500", NOW, millis(3500)),
            (
                "grpc-retry-pushback-ms: 3500\nRetry-After: 1",
                NOW,
                millis(3500),
            ),
            ("grpc-retry-pushback-ms: 0", NOW, None),
            ("grpc-retry-pushback-ms: -1", NOW, Some(Duration::MAX)),
            ("grpc-retry-pushback-ms: later", NOW, Some(Duration::MAX)),
        ],
    );
    assert_eq!(
        parse(Profile::Ietf, "grpc-retry-pushback-ms: 3500").wait(),
        None
    );
}

#[test]
fn stripe_throttles_with_429_alone() {
    let hints = parse(Profile::Stripe, "Retry-After: 1");
    assert_eq!(hints.wait(), secs(1));
    assert!(Profile::Stripe.throttles(StatusCode::TOO_MANY_REQUESTS, &Hints::default()));
    assert!(!Profile::Stripe.throttles(StatusCode::FORBIDDEN, &hints));
}

#[test]
fn free_text_is_never_a_number() {
    let reset = "Tue Feb 16 2021 09:02:42 GMT+0100";
    for profile in [
        Profile::GitHub,
        Profile::Reddit,
        Profile::Discord,
        Profile::Sniff,
    ] {
        let hints = parse(
            profile,
            &format!(
                "X-RateLimit-Limit: 100, 100;window=60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: {reset}"
            ),
        );
        assert_eq!(hints.wait(), None);
        assert_eq!((hints.quotas[0].limit, hints.quotas[0].reset), (None, None));
        assert_eq!((hints.quotas[0].remaining, hints.ignored), (Some(0), 2));
    }
    for text in [
        "1e3", "0x10", "+5", "-5", "5s", "1_000", "1,000", "5 6", "NaN", "inf", ".", "5.", ".5",
        "soon", "",
    ] {
        let hints = parse(Profile::Ietf, &format!("Retry-After: {text}"));
        assert_eq!((hints.retry_after, hints.ignored), (None, 1), "{text:?}");
    }
}

#[test]
fn only_the_profile_s_own_fields_are_believed() {
    let github = "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000042";
    for profile in [
        Profile::Ietf,
        Profile::X,
        Profile::OpenAi,
        Profile::Anthropic,
        Profile::Slack,
    ] {
        assert_eq!(parse(profile, github), Hints::default(), "{profile:?}");
    }
}
