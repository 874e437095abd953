//! The table of runs that are stepped by hand, to the letter.

use std::time::{Duration, Instant};

use tidegate_control::{Aimd, Prober};
use tidegate_core::{
    Cause, Change, Controller, Observer, Outcome, Pace, Reason, Refused, RefusedReason, Sample,
    Setting, Snapshot, Steer, per_minute, per_second,
};
use tidegate_report::Report;

#[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
fn origin() -> Instant {
    Instant::now()
}

/// A service that lets `capacity` in at once and answers each after 50 ms.
struct Run<'a, L> {
    report: &'a Report,
    law: L,
    now: Instant,
}

impl<L: Controller> Run<'_, L> {
    /// As many rounds, each with as many requests as the limit allows.
    fn rounds(&mut self, rounds: u32, capacity: usize) {
        for _ in 0..rounds {
            let limit = self.law.setting().limit as usize;
            let (started, latency) = (self.now, Duration::from_millis(50));
            self.now += latency;
            for place in 0..limit {
                let served = place < capacity;
                let sample = Sample {
                    started,
                    latency: served.then_some(latency),
                    in_flight_at_start: limit,
                    in_flight: limit,
                    outcome: if served {
                        Outcome::Success
                    } else {
                        Outcome::Overload(Cause::Unavailable)
                    },
                    retry_after: None,
                };
                self.report.on_sample(self.now, &sample);
                if let Some(change) = self.law.on_sample(self.now, &sample) {
                    self.report.on_change(self.now, &change);
                }
            }
        }
    }
}

fn aimd(report: &Report) -> Run<'_, Aimd> {
    Run {
        report,
        law: Aimd::new().start(4).step(2.0),
        now: origin(),
    }
}

#[test]
fn a_limit_that_climbs_falls_and_recovers_reads_as_that() {
    let report = Report::new();
    let mut run = aimd(&report);
    run.rounds(16, 32);
    run.rounds(8, 10);
    run.rounds(12, 32);
    assert_eq!(report.table(), include_str!("golden/aimd.txt"));
}

#[test]
fn a_prober_reads_as_what_it_found() {
    let report = Report::new();
    let mut run = Run {
        report: &report,
        law: Prober::new(Duration::ZERO),
        now: origin(),
    };
    run.rounds(80, 32);
    assert_eq!(report.table(), include_str!("golden/prober.txt"));
}

#[test]
fn a_long_run_shows_swings_and_keeps_what_stands_out() {
    let report = Report::new();
    let mut run = aimd(&report);
    run.rounds(2_000, 32);
    run.rounds(1, 2);
    run.rounds(2_000, 32);
    let table = report.table();
    assert_eq!(table, include_str!("golden/long.txt"));
    assert!(table.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_door_without_a_law_reads_as_who_waited_and_who_was_refused() {
    let (report, origin) = (Report::new(), origin());
    for turn in 0..40_u32 {
        let now = origin + Duration::from_millis(50) * turn;
        report.on_wait(now, Duration::from_millis(3) * turn);
        if turn >= 30 {
            let reason = match turn {
                30 => RefusedReason::NoRoom,
                _ => RefusedReason::QueueFull { max_queue: 8 },
            };
            report.on_refused(now, &Refused::new("gate", reason), Duration::ZERO);
        }
    }
    assert_eq!(report.table(), include_str!("golden/door.txt"));
}

#[test]
fn what_was_refused_stands_beside_what_was_answered() {
    let report = Report::new();
    let mut run = aimd(&report);
    run.rounds(8, 32);
    let now = run.now;
    for attempt in 2..4 {
        report.on_retry(now, attempt, Duration::from_millis(100));
    }
    for why in ["budget", "attempts", "budget", "some_other_day"] {
        report.on_gave_up(now, why, 3);
    }
    let paused = RefusedReason::Paused {
        longest: Duration::from_secs(60),
    };
    report.on_refused(now, &Refused::new("gate", paused), Duration::ZERO);
    run.rounds(8, 32);
    assert_eq!(report.table(), include_str!("golden/refused.txt"));
    let page = report.html();
    let given_up = "2 budget, 1 attempts, 1 some other day";
    assert!(page.contains(given_up), "{page}");
    assert!(page.contains(r#"["given up","4"]"#), "{page}");
    assert!(report.svg().contains(given_up));
}

/// A caller's mistake, such as 404, at that moment.
fn ignored(now: Instant) -> Sample {
    Sample {
        started: now,
        latency: None,
        in_flight_at_start: 1,
        in_flight: 1,
        outcome: Outcome::Ignored,
        retry_after: None,
    }
}

#[test]
fn answers_that_say_nothing_are_counted_beside_the_others() {
    let (report, origin) = (Report::new(), origin());
    for turn in 1..=300 {
        let now = origin + Duration::from_millis(10) * turn;
        report.on_sample(now, &ignored(now));
    }
    let table = report.table();
    let summary = "0 answered in 2.99 s: – failed, 300 ignored; limit 1\n";
    assert!(table.starts_with(summary), "{table}");
    let page = report.html();
    assert!(page.contains("<dt>ignored</dt><dd>300</dd>"), "{page}");
    let moments = page.split("[\"ignored\",\"").skip(1);
    let each = moments.map(|moment| moment.split('"').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(each.sum::<u32>(), 300);
    assert!(report.svg().contains("300 ignored"));
}

#[test]
fn a_run_without_answers_that_say_nothing_says_nothing_of_them() {
    let report = Report::new();
    aimd(&report).rounds(8, 32);
    assert!(!report.table().contains("ignored"));
    assert!(!report.html().contains("ignored"));
}

#[test]
fn a_pace_of_millions_and_a_run_of_years_stay_within_a_hundred_columns() {
    let (report, origin) = (Report::new(), origin());
    let words = Box::leak("x".repeat(150).into_boxed_str());
    let (slow, fast) = (per_second(1_000_000.0), per_second(2_000_000.0));
    for days in 0..1_000 {
        let now = origin + Duration::from_secs(86_400 * days);
        report.on_sample(now, &ignored(now));
        let (from, to) = if days % 2 == 0 {
            (slow, fast)
        } else {
            (fast, slow)
        };
        let [from, to] = [from, to].map(|pace| Setting {
            pace: Some(pace),
            ..Setting::limit(4.0)
        });
        let change = Change {
            from,
            to,
            reason: Reason::Other(words),
        };
        report.on_change(now, &change);
    }
    let table = report.table();
    assert!(table.contains("1000000/s"), "{table}");
    assert!(table.lines().any(|line| line.starts_with("23")), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

/// A rate that limits requests and tokens.
#[derive(Clone, Debug)]
struct TwoPaces;

impl Steer for TwoPaces {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new(usize::MAX);
        snapshot.pace = Some(per_minute(500.0));
        snapshot.further_paces.set(1, Some(per_minute(200_000.0)));
        snapshot
    }

    fn set_limit(&self, _limit: usize) {}

    fn set_pace(&self, _pace: Option<Pace>) {}

    fn pause_until(&self, _until: Instant) {}
}

#[test]
fn all_paces_of_a_rate_are_in_the_summary() {
    let (report, origin) = (Report::attach(&TwoPaces), origin());
    report.on_wait(origin, Duration::from_millis(3));
    let table = report.table();
    let summary = "no answer was heard of in 0 ms; pace 8.33/s; further paces 3333/s\n";
    assert!(table.starts_with(summary), "{table}");
    let page = report.html();
    assert!(
        page.contains("<dt>further paces</dt><dd>3333/s</dd>"),
        "{page}"
    );
    assert!(report.svg().contains("further paces 3333/s"));
}

#[test]
fn nothing_heard_is_said() {
    assert_eq!(Report::new().table(), "nothing was heard yet\n");
}
