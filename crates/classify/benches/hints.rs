//! What the search for hints costs.
//!
//! `cargo bench -p tidegate-classify`. Prints the median and the least of many batches; the bar is
//! 150 ns for a response without hints.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use tidegate_classify::{Hints, Profile};

const BATCH: u32 = 20_000;
const BATCHES: usize = 100;

/// What a service behind a proxy sends.
const USUAL: [(&str, &str); 14] = [
    ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("content-type", "application/json; charset=utf-8"),
    ("content-length", "1024"),
    ("server", "nginx"),
    ("cache-control", "max-age=0, private, must-revalidate"),
    ("etag", "W/\"0123456789abcdef\""),
    ("vary", "accept-encoding"),
    ("strict-transport-security", "max-age=31536000"),
    ("x-request-id", "0123456789abcdef"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "deny"),
    ("x-runtime", "0.05"),
    ("referrer-policy", "no-referrer"),
    ("access-control-allow-origin", "*"),
];

fn main() {
    measure("no headers", Profile::Ietf, &[], &[]);
    measure("4 headers, no hint", Profile::Ietf, &USUAL[..4], &[]);
    measure("14 headers, no hint", Profile::Ietf, &USUAL, &[]);
    measure(
        "14 headers, Retry-After: 120",
        Profile::Ietf,
        &USUAL,
        &[("retry-after", "120")],
    );
    measure(
        "14 headers, RateLimit and its policy",
        Profile::Ietf,
        &USUAL,
        &[
            (
                "ratelimit-policy",
                "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400",
            ),
            ("ratelimit", "\"burst\";r=50;t=30,\"daily\";r=700;t=4000"),
        ],
    );
    measure(
        "14 headers, GitHub's",
        Profile::GitHub,
        &USUAL,
        &[
            ("x-ratelimit-limit", "5000"),
            ("x-ratelimit-remaining", "4987"),
            ("x-ratelimit-used", "13"),
            ("x-ratelimit-reset", "1700000042"),
            ("x-ratelimit-resource", "core"),
        ],
    );
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}

fn measure(
    name: &str,
    profile: Profile,
    usual: &[(&'static str, &str)],
    hints: &[(&'static str, &str)],
) {
    let headers: HeaderMap = usual
        .iter()
        .chain(hints)
        .map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_str(value).unwrap())
        })
        .collect();
    let received_at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let started = clock();
            for _ in 0..BATCH {
                black_box(Hints::parse(
                    black_box(&headers),
                    received_at,
                    black_box(profile),
                ));
            }
            (clock() - started).as_secs_f64() * 1e9 / f64::from(BATCH)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    println!(
        "{name:40} {:7.1} ns (least {:.1})",
        batches[BATCHES / 2],
        batches[0]
    );
}
