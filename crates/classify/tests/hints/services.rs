//! Other services: what is sent, when it is received, how long to wait.

use std::time::Duration;

use http::StatusCode;
use tidegate_classify::{Hints, Profile, Wait};

use crate::support::{NOW, millis, parse, secs, table};

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
    let scoped = parse(Profile::Discord, &row("X-RateLimit-Scope: global"));
    assert_eq!(scoped.scope.as_deref(), Some("global"));
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
