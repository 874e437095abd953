//! Servers that count: buckets, windows, bounded queues.

use std::time::Duration;

use crate::common::{closed, fixed, near, samples, told};
use tidegate_core::{Cause, Outcome, Setting, per_second};

const BUCKET: &str = "kind = \"bucket\"\nrate = 200\nburst = 20\nservice = \"30ms\"";

#[test]
fn a_bucket_lets_through_its_burst_and_its_rate() {
    let scenario = closed("rtt = \"20ms\"\nduration = \"30s\"", BUCKET, "");
    let record = fixed(&scenario, 60);
    // 20 at once, 200 a second from the first arrival on; those of the last 40 ms are on the way,
    // and the last tokens may still wait for the next arrival.
    let through = 20 + (200.0 * (30.0 - 0.01 - 0.04)) as u64;
    assert!(
        (through - 4..=through).contains(&record.successes),
        "{}",
        record.successes
    );
}

#[test]
fn a_pace_below_the_rate_is_never_refused() {
    let scenario = closed("rtt = \"20ms\"\nduration = \"30s\"", BUCKET, "");
    let setting = Setting {
        pace: Some(per_second(190.0).burst(2)),
        ..Setting::limit(1_000.0)
    };
    let samples = samples(&told(&scenario, setting));
    assert!(
        samples
            .iter()
            .all(|(_, sample)| sample.outcome.is_success())
    );
    assert_eq!(samples.len(), 2 + (190.0_f64 * (30.0 - 0.05)) as usize);
}

#[test]
fn a_window_lets_through_its_limit_each_time() {
    let scenario = closed(
        "rtt = \"2ms\"\nduration = \"10s\"",
        "kind = \"window\"\nlimit = 60\nper = \"1s\"\nservice = \"3ms\"",
        "",
    );
    let record = fixed(&scenario, 10);
    assert_eq!(record.successes, 600);
    let tick = record.series.tick.as_millis() as usize;
    for second in record.series.points.chunks(1_000 / tick) {
        let successes: u32 = second.iter().map(|point| point.successes).sum();
        assert_eq!(successes, 60);
    }
}

#[test]
fn a_full_queue_refuses_at_once() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"1s\"",
        "kind = \"fifo\"\nworkers = 1\nqueue = 1\nservice = \"10s\"\nreject = 503\nretry_after = \"2s\"",
        "",
    );
    let samples = samples(&told(&scenario, Setting::limit(3.0)));
    let (at, first) = samples[0];
    assert_eq!(at, 10);
    assert_eq!(first.outcome, Outcome::Overload(Cause::Unavailable));
    assert_eq!(first.latency, Some(Duration::from_millis(10)));
    assert_eq!(first.retry_after, Some(Duration::from_secs(2)));
    assert_eq!((first.in_flight_at_start, first.in_flight), (3, 3));
    // Its permit is used again at once: one refusal each round trip.
    assert_eq!(samples.len(), 99);
}

#[test]
fn a_rate_limiter_says_429_unless_it_is_told_otherwise() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"1s\"",
        "kind = \"bucket\"\nrate = 1\nburst = 1\nservice = \"1ms\"",
        "",
    );
    let samples = samples(&told(&scenario, Setting::limit(2.0)));
    let refused = samples
        .iter()
        .find(|(_, sample)| !sample.outcome.is_success());
    assert_eq!(
        refused.unwrap().1.outcome,
        Outcome::Overload(Cause::Throttled)
    );
    assert_eq!(refused.unwrap().1.retry_after, None);
}

#[test]
fn a_share_of_arrivals_fails_whatever_the_load() {
    let rest = "[background]\nshare = 0.1\nstatus = 500";
    let scenario = closed(
        "rtt = \"4ms\"\nduration = \"100s\"",
        "kind = \"fifo\"\nworkers = 4\nservice = \"10ms\"",
        rest,
    );
    let record = fixed(&scenario, 4);
    let answers = (record.successes + record.failures) as f64;
    near(record.failures as f64 / answers, 0.1, 0.05);
    assert_eq!(record.overloads, 0);
}

#[test]
fn a_hot_loop_of_refusals_is_cut() {
    let scenario = closed(
        "rtt = \"10us\"\nduration = \"1000s\"",
        "kind = \"fifo\"\nworkers = 1\nqueue = 0\nservice = \"10ms\"",
        "",
    );
    let record = fixed(&scenario, 20);
    assert!(record.cut);
    assert!(record.elapsed < Duration::from_secs(1_000));
    near(record.goodput(), 100.0, 0.02);
}
