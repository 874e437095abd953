//! What changes while it runs.

use std::time::Duration;

use crate::common::{closed, fixed, near, samples, told};
use tidegate_core::{Cause, Outcome, Setting};

fn successes(record: &tidegate_sim::Record, from: u64, to: u64) -> f64 {
    let piece = |second: u64| (second * 1_000 / record.series.tick.as_millis() as u64) as usize;
    let points = &record.series.points[piece(from)..piece(to)];
    points.iter().map(|point| f64::from(point.successes)).sum()
}

#[test]
fn a_capacity_step_moves_the_workers() {
    let scenario = closed(
        "rtt = \"1ms\"\nduration = \"60s\"",
        "kind = \"fifo\"\nworkers = 10\nservice = { exponential = \"20ms\" }",
        "[[step]]\nat = \"20s\"\ncapacity = 0.5\n[[step]]\nat = \"40s\"\ncapacity = 1",
    );
    let record = fixed(&scenario, 30);
    near(successes(&record, 1, 20), 500.0 * 19.0, 0.03);
    near(successes(&record, 21, 40), 250.0 * 19.0, 0.03);
    near(successes(&record, 41, 60), 500.0 * 19.0, 0.03);
}

#[test]
fn a_capacity_step_moves_a_rate_a_quota_and_a_speed() {
    let steps = "[[step]]\nat = \"10s\"\ncapacity = 0.5";
    for (server, limit) in [
        (
            "kind = \"bucket\"\nrate = 100\nburst = 1\nservice = \"1ms\"",
            2,
        ),
        (
            "kind = \"window\"\nlimit = 100\nper = \"1s\"\nservice = \"1ms\"",
            2,
        ),
        ("kind = \"ps\"\ncapacity = 2\nservice = \"20ms\"", 8),
        ("kind = \"usl\"\nalpha = 0\nbeta = 0\nservice = \"20ms\"", 2),
    ] {
        let scenario = closed("rtt = \"2ms\"\nduration = \"20s\"", server, steps);
        let record = fixed(&scenario, limit);
        let ratio = successes(&record, 11, 20) / successes(&record, 1, 10);
        // A speed of one half leaves the 2 ms on the way as they are.
        assert!((0.48..0.53).contains(&ratio), "{server}: {ratio}");
    }
}

#[test]
fn a_route_change_is_read_when_sent_and_when_answered() {
    let scenario = closed(
        "rtt = \"10ms\"\nduration = \"1s\"",
        "kind = \"fifo\"\nworkers = 9\nservice = \"100ms\"",
        "[[step]]\nat = \"50ms\"\nrtt = \"30ms\"",
    );
    let samples = samples(&told(&scenario, Setting::limit(1.0)));
    let latencies: Vec<_> = samples
        .iter()
        .map(|(_, s)| s.latency.unwrap().as_millis())
        .collect();
    assert_eq!(latencies[..3], [5 + 100 + 15, 130, 130]);
}

const SLOW: &str = "kind = \"fifo\"\nworkers = 1\nservice = \"1s\"\nreject = 503";

#[test]
fn a_loud_outage_refuses_new_and_queued_requests_and_finishes_what_runs() {
    let scenario = closed(
        "rtt = \"100ms\"\nduration = \"1400ms\"",
        SLOW,
        "[[step]]\nat = \"500ms\"\ncapacity = 0",
    );
    let samples = samples(&told(&scenario, Setting::limit(3.0)));
    let refused = Outcome::Overload(Cause::Unavailable);
    let seen: Vec<_> = samples
        .iter()
        .map(|(at, s)| (*at, s.outcome))
        .take(4)
        .collect();
    assert_eq!(
        seen,
        [
            (550, refused),
            (550, refused),
            (650, refused),
            (650, refused)
        ]
    );
    let success = samples
        .iter()
        .find(|(_, sample)| sample.outcome.is_success());
    assert_eq!(success.unwrap().0, 1_100);
}

#[test]
fn a_silent_outage_keeps_its_queue_and_answers_nobody_new() {
    let scenario = closed(
        "rtt = \"0s\"\nduration = \"10s\"\ntimeout = \"6s\"",
        SLOW,
        "[[step]]\nat = \"500ms\"\ncapacity = 0\nsilent = true\n[[step]]\nat = \"4s\"\ncapacity = 1",
    );
    let samples = samples(&told(&scenario, Setting::limit(2.0)));
    let seen: Vec<_> = samples
        .iter()
        .map(|(at, s)| (*at, s.outcome))
        .take(3)
        .collect();
    let timed_out = Outcome::Overload(Cause::TimedOut);
    // One was running, one was kept and served after the outage, one came during it.
    assert_eq!(
        seen,
        [
            (1_000, Outcome::Success),
            (5_000, Outcome::Success),
            (6_000, Outcome::Success)
        ],
        "{timed_out:?}"
    );
    let late = samples
        .iter()
        .find(|(_, sample)| sample.outcome == timed_out);
    assert_eq!(late.unwrap().0, 7_000);
    assert_eq!(late.unwrap().1.latency, Some(Duration::from_secs(6)));
}
