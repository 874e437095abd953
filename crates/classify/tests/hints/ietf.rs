//! `Retry-After` and the fields of the IETF: what is sent, when it is received, how long to wait.

use tidegate_classify::{Profile, Quota, Unit};

use crate::support::{NOW, millis, parse, secs, table};

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
