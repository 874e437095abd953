//! What happened to other clients, as far as a parser can prevent it.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_classify::{Hints, Profile, Quota, Remaining};

use crate::support::{NOW, at, headers, origin, parse, secs};

#[test]
fn the_three_generations_of_the_ietf_s_fields_say_the_same() {
    for lines in [
        "RateLimit: limit=100, remaining=0, reset=50",
        "RateLimit-Limit: 100\nRateLimit-Remaining: 0\nRateLimit-Reset: 50",
        "RateLimit: \"default\";r=0;t=50\nRateLimit-Policy: \"default\";q=100;w=60",
        "RateLimit: default;r=0;t=50\nRateLimit-Policy: default;q=100;w=60",
    ] {
        let hints = parse(Profile::Ietf, lines);
        let Quota {
            limit,
            remaining,
            reset,
            ..
        } = hints.quotas[0];
        assert_eq!(
            (limit, remaining, reset),
            (Some(100), Some(0), secs(50)),
            "{lines}"
        );
        assert_eq!(hints.wait(), secs(50), "{lines}");
    }
}

#[test]
fn policies_tell_the_window_in_each_generation() {
    for lines in [
        "RateLimit: limit=100, remaining=0, reset=50\nRateLimit-Policy: 10;w=1, 100;w=60",
        "RateLimit-Limit: 100, 10;w=1, 100;w=60\nRateLimit-Remaining: 0\nRateLimit-Reset: 50",
        "RateLimit: \"a\";r=0;t=50\nRateLimit-Policy: \"b\";q=10;w=1, \"a\";q=100;w=60",
    ] {
        let hints = parse(Profile::Ietf, lines);
        assert_eq!(hints.binding().unwrap().window, secs(60), "{lines}");
    }
}

#[test]
fn names_need_no_quotes_and_unknown_parameters_do_not_matter() {
    let hints = parse(Profile::Ietf, "RateLimit: policy1;r=20;t=20;pk=:cGs=:;x=?1");
    let Quota {
        name,
        remaining,
        reset,
        ..
    } = &hints.quotas[0];
    assert_eq!(name.as_deref(), Some("policy1"));
    assert_eq!((*remaining, *reset), (Some(20), secs(20)));
}

#[test]
fn remaining_zero_is_zero_and_not_missing() {
    for (profile, lines) in [
        (Profile::Sniff, "X-RateLimit-Remaining: 0"),
        (Profile::GitHub, "X-RateLimit-Remaining: 0"),
        (Profile::Ietf, "RateLimit-Remaining: 0"),
        (Profile::Ietf, "RateLimit: \"a\";r=0"),
    ] {
        let hints = parse(profile, lines);
        assert_eq!(hints.quotas[0].remaining, Some(0));
        assert!(hints.quotas[0].is_spent());
        assert_eq!(hints.wait(), None, "there is no reset");
    }
    assert!(!Quota::default().is_spent());
}

#[test]
fn a_half_broken_field_is_no_hint_and_is_counted() {
    for lines in [
        "RateLimit: \"a\";r=0;t=",
        "RateLimit: \"a;r=0;t=5",
        "RateLimit: \"a\";r=0;t=5,",
        "RateLimit: limit=100, remaining=0, reset=",
        "RateLimit: limit 100",
        "RateLimit: unlimited",
        "RateLimit: \"a\";r=0;t=5\nRateLimit: ;",
        "RateLimit: \"a\";r=0;t=9999999999999999",
        "RateLimit-Policy: \"a\";q=",
        "RateLimit-Remaining: none",
    ] {
        let hints = parse(Profile::Ietf, lines);
        let expected = Hints {
            ignored: 1,
            ..Hints::default()
        };
        assert_eq!(hints, expected, "{lines}");
    }
    // What is below a broken field is still heard.
    let older = parse(
        Profile::Ietf,
        "RateLimit: \"a;r=0\nRateLimit-Remaining: 0\nRateLimit-Reset: 5",
    );
    assert_eq!((older.wait(), older.ignored), (secs(5), 1));
}

#[test]
fn among_dialects_retry_after_wins_then_the_profile_s_own_then_the_newest_of_the_ietf() {
    let mut lines = "RateLimit-Remaining: 0\nRateLimit-Reset: 11".to_owned();
    assert_eq!(parse(Profile::GitHub, &lines).wait(), secs(11));
    lines += "\nRateLimit: \"a\";r=0;t=7,\"b\";r=0;t=9";
    assert_eq!(parse(Profile::GitHub, &lines).wait(), secs(9));
    lines += "\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000003";
    assert_eq!(parse(Profile::GitHub, &lines).wait(), secs(3));
    assert_eq!(parse(Profile::Ietf, &lines).wait(), secs(9));
    lines += "\nRetry-After: 2";
    assert_eq!(parse(Profile::GitHub, &lines).wait(), secs(2));
}

#[test]
fn the_binding_quota_has_the_smallest_share_and_not_the_last_place() {
    let binding = |lines: &str| {
        let hints = parse(Profile::Ietf, lines);
        hints.binding().and_then(|quota| quota.name.clone())
    };
    let policies = "RateLimit-Policy: \"burst\";q=100,\"daily\";q=1000\n";
    let with = |items: &str| binding(&format!("{policies}RateLimit: {items}"));
    assert_eq!(
        with("\"burst\";r=10;t=5,\"daily\";r=500;t=50").as_deref(),
        Some("burst")
    );
    assert_eq!(
        with("\"burst\";r=90;t=5,\"daily\";r=80;t=50").as_deref(),
        Some("daily")
    );
    // What does not say when it is reset cannot tell how long to wait.
    assert_eq!(
        with("\"burst\";r=0,\"daily\";r=80;t=50").as_deref(),
        Some("daily")
    );
    assert_eq!(with("\"burst\";r=0,\"daily\";r=80"), None);
}

#[test]
fn equal_hints_for_twenty_callers_are_equal_and_none_is_early() {
    // One server, one second, one date: our clock has moved on in the meantime.
    for late in (0..1000).step_by(50) {
        let received_at = at(NOW) + Duration::from_millis(late);
        for value in ["600", "Tue, 14 Nov 2023 22:23:20 GMT"] {
            let lines = format!("Date: Tue, 14 Nov 2023 22:13:20 GMT\nRetry-After: {value}");
            let hints = Hints::parse(&headers(&lines), received_at, Profile::Ietf);
            assert_eq!(hints.wait(), secs(600));
        }
    }
}

#[test]
fn a_spent_resource_is_named_so_that_the_others_are_not_held_back() {
    let response = |resource: &str, remaining: u32| {
        let lines = format!(
            "x-ratelimit-resource: {resource}\nx-ratelimit-remaining: {remaining}\nx-ratelimit-reset: 1700000030"
        );
        let hints = parse(Profile::GitHub, &lines);
        (hints.scope.clone().unwrap(), hints.wait())
    };
    assert_eq!(response("core", 4999), ("core".into(), None));
    assert_eq!(response("search", 0), ("search".into(), secs(30)));
    assert_eq!(response("code_search", 9), ("code_search".into(), None));
    let unnamed = parse(
        Profile::GitHub,
        "x-ratelimit-remaining: 0\nx-ratelimit-resource:  ",
    );
    assert_eq!(unnamed.scope, None);
}

/// Of two windows that end in one minute and in two: 29 to 20 left.
fn responses() -> Vec<Quota> {
    let quota = |reset, remaining| Quota {
        limit: Some(30),
        remaining: Some(remaining),
        reset: secs(reset),
        ..Quota::default()
    };
    let windows = [60, 120].into_iter();
    windows
        .flat_map(|reset| (20..30).map(move |left| quota(reset, left)))
        .collect()
}

proptest! {
    #[test]
    fn in_any_order_what_remains_is_the_least_of_the_newest_window(
        order in Just(responses()).prop_shuffle(),
    ) {
        let start = origin();
        let mut remaining = Remaining::default();
        for (i, quota) in order.iter().enumerate() {
            let now = start + Duration::from_millis(50 * i as u64);
            remaining.observe(now, quota);
            let seen = &order[..=i];
            let newest = seen.iter().map(|quota| quota.reset).max().unwrap();
            let of_newest = seen.iter().filter(|quota| quota.reset == newest);
            let least = of_newest.map(|quota| quota.remaining.unwrap()).min();
            prop_assert_eq!(remaining.at(now), least);
        }
    }
}

#[test]
fn what_remains_of_a_bucket_rises_again_although_its_reset_moves_with_the_clock() {
    let bucket = |remaining| Quota {
        remaining: Some(remaining),
        reset: Some(Duration::from_secs(1)),
        ..Quota::default()
    };
    let (start, mut remaining) = (origin(), Remaining::default());
    let known: Vec<_> = (0..60)
        .map(|tenths| {
            let now = start + Duration::from_millis(100 * tenths);
            remaining.observe(now, &bucket(if tenths == 5 { 1 } else { 18 }));
            remaining.at(now).unwrap()
        })
        .collect();
    assert_eq!(known.iter().filter(|known| **known == 1).count(), 16);
    assert_eq!(known[21], 18);
}

#[test]
fn a_new_window_may_have_more_and_one_that_is_over_has_nothing_to_say() {
    let says = |remaining, reset| Quota {
        remaining: Some(remaining),
        reset,
        ..Quota::default()
    };
    let start = origin();
    let after = |seconds| start + Duration::from_secs(seconds);
    let mut remaining = Remaining::default();
    assert_eq!(remaining.at(start), None);
    remaining.observe(start, &says(3, None));
    assert_eq!(remaining.at(start), None, "windows cannot be told apart");

    remaining.observe(start, &says(1, secs(60)));
    // The same window, whose end is told in whole seconds.
    remaining.observe(after(1), &says(2, secs(60)));
    assert_eq!(remaining.at(after(1)), Some(1));
    remaining.observe(after(1), &says(9, Some(Duration::ZERO)));
    assert_eq!(remaining.at(after(60)), Some(1));
    assert_eq!(remaining.at(after(61)), None);

    remaining.observe(after(61), &says(30, secs(60)));
    assert_eq!(remaining.at(after(61)), Some(30));
    remaining.observe(after(62), &says(0, secs(1)));
    assert_eq!(
        remaining.at(after(62)),
        Some(30),
        "a late answer of the window before"
    );
    remaining.observe(after(62), &says(5, Some(Duration::MAX)));
    remaining.observe(after(63), &says(7, secs(60)));
    assert_eq!(remaining.at(after(1_000_000)), Some(5));
}
