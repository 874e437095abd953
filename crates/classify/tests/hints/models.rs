//! Services of language models: what is sent, when it is received, how long to wait.

use std::time::Duration;

use tidegate_classify::{Profile, Unit};

use crate::support::{NOW, millis, parse, secs, table};

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
        ("6.1ns", Some(Duration::from_nanos(7))),
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
fn openai_s_milliseconds_come_before_retry_after() {
    table(
        Profile::OpenAi,
        &[
            ("retry-after-ms: 374\nRetry-After: 1", NOW, millis(374)),
            ("retry-after-ms: 0\nRetry-After: 1", NOW, secs(1)),
            ("x-ms-retry-after-ms: 374\nRetry-After: 1", NOW, secs(1)),
        ],
    );
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
