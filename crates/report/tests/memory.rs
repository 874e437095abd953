//! What a report takes, and when.

use std::time::{Duration, Instant};

use allocation_counter::measure;
use tidegate_core::{Change, Observer, Outcome, Reason, Sample, Setting};
use tidegate_report::Report;

#[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
fn origin() -> Instant {
    Instant::now()
}

/// An answer and a change each second.
fn run(report: &Report, origin: Instant, seconds: std::ops::Range<u64>) {
    for second in seconds {
        let now = origin + Duration::from_secs(second);
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(second % 500)),
            in_flight_at_start: 4,
            in_flight: 4,
            outcome: Outcome::Success,
            retry_after: None,
        };
        report.on_sample(now, &sample);
        let limits = [4.0, 5.0, 4.0].map(Setting::limit);
        let step = (second % 2) as usize;
        let change = Change {
            from: limits[step],
            to: limits[step + 1],
            reason: Reason::Manual,
        };
        report.on_change(now, &change);
    }
}

#[test]
fn a_day_takes_less_than_800_kilobytes_and_a_week_no_more() {
    let (report, origin) = (Report::new(), origin());
    let day = measure(|| run(&report, origin, 0..86_400));
    assert!(day.bytes_current < 800_000, "{day:?}");
    assert!(day.bytes_max < 1_000_000, "{day:?}");
    let week = measure(|| run(&report, origin, 86_400..604_800));
    assert_eq!(week.bytes_current, 0, "{week:?}");
}

#[test]
fn answers_take_no_memory_once_all_intervals_are_there() {
    let (report, origin) = (Report::new(), origin());
    let answer = |millis: u64| {
        let now = origin + Duration::from_millis(millis);
        let sample = Sample {
            started: now,
            latency: Some(Duration::from_millis(millis % 500)),
            in_flight_at_start: 4,
            in_flight: 4,
            outcome: Outcome::Success,
            retry_after: None,
        };
        report.on_sample(now, &sample);
    };
    (0..4_000).for_each(answer);
    let taken = measure(|| (4_000..100_000).for_each(answer));
    assert_eq!(taken.count_total, 0, "{taken:?}");
}
