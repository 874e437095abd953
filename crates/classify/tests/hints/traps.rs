//! Values that made other clients wait not at all, or for ever.

use std::time::{Duration, SystemTime};

use tidegate_classify::{Hints, Profile, retry_after};

use crate::support::{NOW, at, headers, millis, parse, secs};

fn wait(value: &str) -> Option<Duration> {
    parse(Profile::Ietf, &format!("Retry-After: {value}")).wait()
}

#[test]
fn a_fraction_is_honoured_and_rounded_up() {
    for (value, expected) in [
        ("0.503", 503),
        ("0.314", 314),
        ("1.5", 1500),
        ("299.997", 299_997),
        ("123.39", 123_390),
        (" 2.5 ", 2500),
        ("2.0", 2000),
    ] {
        assert_eq!(wait(value), millis(expected), "{value:?}");
    }
    let nanos = |nanos| Some(Duration::from_nanos(nanos));
    assert_eq!(wait("0.0000000001"), nanos(1));
    assert_eq!(wait("1.0000000000"), nanos(1_000_000_000));
    assert_eq!(wait("0.9999999991"), nanos(1_000_000_000));
    assert_eq!(wait(&format!("0.{}1", "0".repeat(400))), nanos(1));
}

#[test]
fn a_moment_that_is_past_leaves_it_to_our_own_back_off() {
    let spent = "x-ratelimit-remaining: 0\nx-ratelimit-reset: ";
    for (profile, lines) in [
        (
            Profile::Ietf,
            "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT".to_owned(),
        ),
        (Profile::GitHub, format!("{spent}1699999995")),
        (Profile::GitHub, format!("{spent}{NOW}")),
        (Profile::Sniff, format!("{spent}1699999995")),
        (Profile::Ietf, "RateLimit: \"a\";r=0;t=0".to_owned()),
    ] {
        let hints = parse(profile, &lines);
        assert_eq!(hints.wait(), None, "{lines}");
        assert_eq!(
            profile.wait(&hints),
            None,
            "nothing is invented where something is said"
        );
    }
    let past = parse(Profile::Ietf, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(past.retry_after, Some(Duration::ZERO));
}

#[test]
fn zero_is_told_from_silence_and_asks_for_no_wait() {
    for value in ["0", "0.0", "00"] {
        let hints = parse(Profile::Ietf, &format!("Retry-After: {value}"));
        assert_eq!(
            (hints.retry_after, hints.wait()),
            (Some(Duration::ZERO), None)
        );
    }
    assert_eq!(parse(Profile::Ietf, "Server: x").retry_after, None);
    // It does not hide that a quota is spent, either.
    let both = parse(Profile::Ietf, "Retry-After: 0\nRateLimit: \"a\";r=0;t=9");
    assert_eq!(both.wait(), secs(9));
}

#[test]
fn what_is_too_large_is_longer_than_anybody_waits() {
    let month = Duration::from_secs(2_147_484);
    let digits = "9".repeat(400);
    for value in [
        "2147484",
        "9223372036",
        "9223372037",
        "9223372036854775807",
        "18446744073709551616",
        // 2^128
        "340282366920938463463374607431768211456",
        &digits,
        &format!("{digits}.{digits}"),
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ] {
        assert!(wait(value).unwrap() >= month, "{value}");
    }
    assert_eq!(wait("9223372036854775807"), secs(i64::MAX as u64));
    assert_eq!(wait("18446744073709551616"), Some(Duration::MAX));
    assert_eq!(wait(&digits), Some(Duration::MAX));
    assert_eq!(
        wait("Fri, 31 Dec 9999 23:59:59 GMT"),
        secs(253_402_300_799 - NOW)
    );

    for (profile, spent) in [
        (Profile::Ietf, "RateLimit-Remaining: 0\nRateLimit-Reset: "),
        (
            Profile::GitHub,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: ",
        ),
        (
            Profile::Reddit,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: ",
        ),
        (
            Profile::Discord,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset-after: ",
        ),
        (
            Profile::Discord,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: ",
        ),
        (
            Profile::OpenAi,
            "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: ",
        ),
        (Profile::AzureOpenAi, "retry-after-ms: "),
        (Profile::Google, "grpc-retry-pushback-ms: "),
    ] {
        for value in ["9223372036854775807", &digits] {
            let hints = parse(profile, &format!("{spent}{value}"));
            assert!(hints.wait().unwrap() >= month, "{profile:?} {value}");
        }
    }
    let hours = parse(
        Profile::OpenAi,
        &format!("x-ratelimit-remaining-a: 0\nx-ratelimit-reset-a: {digits}h{digits}m{digits}s"),
    );
    assert_eq!(hours.wait(), Some(Duration::MAX));
}

#[test]
fn a_quantity_that_is_too_large_saturates() {
    let digits = "9".repeat(400);
    let hints = parse(
        Profile::GitHub,
        &format!(
            "x-ratelimit-limit: {digits}\nx-ratelimit-remaining: {digits}\nx-ratelimit-reset: {digits}"
        ),
    );
    assert_eq!(hints.quotas[0].limit, Some(u64::MAX));
    assert_eq!(hints.quotas[0].remaining, Some(u64::MAX));
    assert_eq!(hints.wait(), None);
}

#[test]
fn a_reset_of_unknown_unit_is_believed_when_small_or_near_now() {
    let spent = "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: ";
    for (reset, now, wait) in [
        // Seconds since the epoch.
        ("1625481641", 1_625_481_600, secs(41)),
        ("1625481641", 1_625_481_641, None),
        ("1625481641", 1_625_481_700, None),
        ("1625481641", 1_625_481_641 - 86_400, secs(86_400)),
        // Milliseconds since the epoch.
        ("1562287945706", 1_562_287_940, millis(5706)),
        ("1562287945706", 1_562_287_946, None),
        // Seconds from now.
        ("50", NOW, secs(50)),
        ("3600", NOW, secs(3600)),
        ("86400", NOW, secs(86_400)),
        ("0", NOW, None),
    ] {
        let hints = Hints::parse(
            &headers(&format!("{spent}{reset}")),
            at(now),
            Profile::Sniff,
        );
        assert_eq!((hints.wait(), hints.ignored), (wait, 0), "{reset} at {now}");
    }
    let after = parse(
        Profile::Sniff,
        &format!("{spent}1700000009\nX-RateLimit-Reset-After: 8.5"),
    );
    assert_eq!(
        after.wait(),
        millis(8500),
        "no clock is needed for this one"
    );
    // Neither: ignored, and counted.
    for (reset, now) in [
        ("1625481641", NOW),
        ("1625481641", 1_625_481_641 - 86_401),
        ("1562287945706", NOW),
        ("86401", NOW),
        ("9223372036854775807", NOW),
    ] {
        let hints = Hints::parse(
            &headers(&format!("{spent}{reset}")),
            at(now),
            Profile::Sniff,
        );
        assert_eq!((hints.wait(), hints.ignored), (None, 1), "{reset} at {now}");
        assert!(hints.quotas[0].is_spent());
    }
}

#[test]
fn a_profile_that_is_set_wins_over_what_would_be_near() {
    let spent = "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1700000050";
    assert_eq!(parse(Profile::GitHub, spent).wait(), secs(50));
    assert_eq!(parse(Profile::Reddit, spent).wait(), secs(1_700_000_050));
    assert_eq!(parse(Profile::Ietf, spent).wait(), None);
}

#[test]
fn a_clock_of_ours_that_is_wrong_does_not_matter_where_there_is_a_date() {
    let server = "Date: Tue, 14 Nov 2023 22:13:20 GMT\n";
    let resets = [
        (Profile::Ietf, "Retry-After: Tue, 14 Nov 2023 22:13:30 GMT"),
        (
            Profile::GitHub,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000010",
        ),
        (
            Profile::Discord,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000010.0",
        ),
        (
            Profile::Sniff,
            "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000010000",
        ),
        (
            Profile::Anthropic,
            "anthropic-ratelimit-tokens-remaining: 0\nanthropic-ratelimit-tokens-reset: 2023-11-14T22:13:30Z",
        ),
    ];
    for (profile, reset) in resets {
        for skew in [-300_000, -2_500, 0, 2_500, 300_000_i64] {
            let ours = (NOW * 1000).saturating_add_signed(skew);
            let received_at = SystemTime::UNIX_EPOCH + Duration::from_millis(ours);
            let wait = |lines: &str| Hints::parse(&headers(lines), received_at, profile).wait();
            assert_eq!(
                wait(&format!("{server}{reset}")),
                secs(10),
                "{profile:?}, {skew} ms"
            );
            // Without a date we are as wrong as our clock.
            let wrong = u64::try_from(10_000 - skew).ok().and_then(millis);
            assert_eq!(wait(reset), wrong, "{profile:?}, {skew} ms, no date");
        }
    }
}

#[test]
fn a_wait_from_now_needs_no_clock() {
    let relative = headers("Retry-After: 10");
    let wait = retry_after(&relative, || unreachable!("seconds are counted from now"));
    assert_eq!(wait, secs(10));
    let dated =
        headers("Retry-After: Tue, 14 Nov 2023 22:13:30 GMT\nDate: Tue, 14 Nov 2023 22:13:20 GMT");
    let wait = retry_after(&dated, || unreachable!("the response has a date"));
    assert_eq!(wait, secs(10));
    let undated = headers("Retry-After: Tue, 14 Nov 2023 22:13:30 GMT");
    assert_eq!(retry_after(&undated, || at(NOW)), secs(10));
    assert_eq!(retry_after(&undated, || at(NOW + 10)), None);
    let several = headers("Retry-After: 3\nRetry-After: 9\nRetry-After: 5");
    assert_eq!(retry_after(&several, || at(NOW)), secs(9));
    assert_eq!(retry_after(&headers("Retry-After: 0"), || at(NOW)), None);
    let silent = headers("Server: x");
    assert_eq!(
        retry_after(&silent, || unreachable!("there is no hint")),
        None
    );
}

#[test]
fn a_clock_before_the_epoch_is_at_the_epoch() {
    let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1000);
    let lines = headers("x-ratelimit-remaining: 0\nx-ratelimit-reset: 42");
    assert_eq!(
        Hints::parse(&lines, before, Profile::GitHub).wait(),
        secs(42)
    );
}

#[test]
fn a_date_that_cannot_be_read_is_as_none() {
    let wait = |date: &str| {
        parse(
            Profile::Ietf,
            &format!("Retry-After: Tue, 14 Nov 2023 22:13:30 GMT\nDate: {date}"),
        )
        .wait()
    };
    assert_eq!(wait("yesterday"), secs(10));
    assert_eq!(wait("1700000005"), secs(10));
}

#[test]
fn the_quotas_of_a_cached_response_are_old_and_its_retry_after_counts() {
    let lines = "RateLimit: \"a\";r=0;t=50\nRateLimit-Policy: \"a\";q=10;w=60\nAge: ";
    for (age, quotas) in [("0", 1), ("1", 0), ("86400", 0), ("soon", 1)] {
        let hints = parse(Profile::Ietf, &format!("{lines}{age}"));
        assert_eq!(hints.quotas.len(), quotas, "{age}");
    }
    let hints = parse(Profile::Ietf, "Retry-After: 60\nAge: 30");
    assert_eq!(hints.wait(), secs(60));
    let github = "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1700000042\nAge: 30";
    assert_eq!(parse(Profile::GitHub, github).wait(), None);
}
