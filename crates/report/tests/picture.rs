//! What a picture says.

use std::time::{Duration, Instant};

use roxmltree::Document;
use tidegate_core::{Change, Observer, Outcome, Reason, Refused, RefusedReason, Sample, Setting};
use tidegate_report::Report;

#[expect(clippy::disallowed_methods, reason = "an origin, to add to")]
fn origin() -> Instant {
    Instant::now()
}

fn answer(report: &Report, now: Instant) {
    let sample = Sample {
        started: now,
        latency: Some(Duration::from_millis(30)),
        in_flight_at_start: 4,
        in_flight: 4,
        outcome: Outcome::Success,
        retry_after: None,
    };
    report.on_sample(now, &sample);
}

/// What stands in it, and what a pointer is told.
fn said(svg: &str) -> Vec<String> {
    let picture = Document::parse(svg).unwrap();
    let texts = picture
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    let titles = picture
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")));
    let said = texts.chain(titles).filter_map(|node| node.text());
    said.map(|said| said.trim().to_owned()).collect()
}

#[test]
fn the_moves_that_matter_are_numbered_with_their_reasons() {
    let (report, origin) = (Report::new().title("a service"), origin());
    let mut limit = 40.0;
    for second in 0..100 {
        let now = origin + Duration::from_secs(second);
        answer(&report, now);
        let (to, reason) = match second {
            30 => (10.0, Reason::Other("it was too much")),
            60 => (40.0, Reason::Other("it was too little")),
            second if second % 2 == 0 => (limit + 1.0, Reason::Other("noise")),
            _ => (limit - 1.0, Reason::Other("noise")),
        };
        let (from, to) = (Setting::limit(limit), Setting::limit(to));
        report.on_change(now, &Change { from, to, reason });
        limit = to.limit;
    }
    let said = said(&report.svg());
    for expected in [
        "a service",
        "1",
        "↓ 41 → 9 (3×)",
        "it was too much",
        "2",
        "↑ 9 → 40",
        "it was too little",
        "30.0 s: ↓ 41 → 9 (3×): it was too much",
    ] {
        assert!(said.iter().any(|it| it == expected), "{expected}: {said:?}");
    }
    assert!(
        !said.iter().any(|it| it == "3" || it == "noise"),
        "{said:?}"
    );
}

#[test]
fn a_pause_is_named_where_there_is_one() {
    for paused in [true, false] {
        let (report, origin) = (Report::new(), origin());
        answer(&report, origin);
        let from = Setting::limit(4.0);
        let mut to = Setting::limit(3.0);
        to.pause_until = paused.then_some(origin + Duration::from_secs(2));
        let reason = Reason::RetryAfter(Duration::from_secs(2));
        report.on_change(origin, &Change { from, to, reason });
        answer(&report, origin + Duration::from_secs(5));
        let said = said(&report.svg());
        assert_eq!(said.iter().any(|it| it == "pause"), paused, "{said:?}");
    }
}

#[test]
fn refusals_and_waits_are_drawn_where_there_are_any_and_named_by_why() {
    for refused in [true, false] {
        let (report, origin) = (Report::new(), origin());
        answer(&report, origin);
        let now = origin + Duration::from_secs(1);
        if refused {
            report.on_wait(now, Duration::from_millis(80));
            let refused = Refused::new("gate", RefusedReason::QueueFull { max_queue: 4 });
            report.on_refused(now, &refused, Duration::ZERO);
        }
        answer(&report, origin + Duration::from_secs(5));
        let said = said(&report.svg());
        for expected in [
            "1 waited, at most 80 ms; refused unsent: 1 queue full",
            "Longest wait to be sent, ms",
            "Refused unsent, per second",
            "1 queue full",
        ] {
            let there = said.iter().any(|it| it == expected);
            assert_eq!(there, refused, "{expected}: {said:?}");
        }
    }
}

#[test]
fn where_no_answer_is_heard_of_none_is_drawn() {
    let (report, origin) = (Report::new(), origin());
    report.on_wait(origin, Duration::from_millis(80));
    report.on_wait(origin + Duration::from_secs(1), Duration::from_millis(90));
    let said = said(&report.svg());
    assert!(said.contains(&String::from("Longest wait to be sent, ms")));
    for absent in ["Answers per second", "Latency of successes, ms"] {
        assert!(!said.iter().any(|it| it == absent), "{said:?}");
    }
}

#[test]
fn nothing_and_one_moment_can_be_drawn() {
    let report = Report::new();
    assert!(said(&report.svg()).contains(&String::from("nothing was heard yet")));
    assert!(report.html().contains("Requests at once"));
    answer(&report, origin());
    assert!(said(&report.svg())[1].starts_with("1 answered in 0 ms"));
}

#[test]
fn a_limit_without_end_or_sense_is_none() {
    for odd in [f64::INFINITY, 1e300, f64::NAN, f64::NEG_INFINITY] {
        let (report, origin) = (Report::new(), origin());
        answer(&report, origin);
        let (from, to) = (Setting::limit(odd), Setting::limit(4.0));
        let reason = Reason::Manual;
        report.on_change(origin, &Change { from, to, reason });
        answer(&report, origin + Duration::from_secs(5));
        let change = Change {
            from: to,
            to: from,
            reason,
        };
        report.on_change(origin + Duration::from_secs(6), &change);
        for view in [report.table(), report.svg(), report.html()] {
            assert!(!view.contains("NaN") && !view.contains("inf"), "{view}");
            assert_eq!(view.contains("none → 4"), odd > 0.0, "{view}");
        }
    }
}
