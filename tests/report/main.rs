//! A report of layers that run.

mod halved;
#[path = "../support/mod.rs"]
mod support;

use std::io;
use std::sync::Arc;

use futures_util::future::join_all;
use http::{Request, Response};
use tidegate::{
    Aimd, Change, Controller, FeedbackLayer, GateLayer, GovernorLayer, HttpClassifier, ProberLayer,
    RateLayer, Report, Sample, Setting, Steer, Units, per_second,
};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::{assert_free, now};

/// Answers after 20 ms: 200 to as many as there are places, 503 to the others.
fn service(
    places: usize,
) -> impl Service<Request<()>, Response = Response<String>, Error = io::Error, Future: Send> + Clone
{
    let places = Arc::new(tokio::sync::Semaphore::new(places));
    service_fn(move |_: Request<()>| {
        let place = Arc::clone(&places).try_acquire_owned();
        async move {
            sleep(20.ms()).await;
            let mut response = Response::new(String::from("hello"));
            if place.is_err() {
                *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
            }
            Ok(response)
        }
    })
}

async fn send<S>(stack: &S, requests: usize)
where
    S: Service<Request<()>, Response: Send> + Clone,
    S::Error: std::fmt::Debug,
{
    let send = || stack.clone().oneshot(Request::new(()));
    join_all((0..requests).map(|_| async {
        send().await.unwrap();
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_prober_tells_how_it_went_in_three_views() -> io::Result<()> {
    let prober = ProberLayer::new(HttpClassifier::default()).hold_head();
    let handle = prober.handle();
    let report = Report::attach(&handle);
    let stack = prober.layer(service(16));
    send(&stack, 2_000).await;

    let table = report.table();
    assert!(table.starts_with("2000 answered in "), "{table}");
    assert!(table.contains("starting: one more for each success"));
    assert!(table.contains(" overloaded, above "));
    assert!(report.svg().contains("Waiting to be sent"));
    let page = std::env::temp_dir().join(format!("tidegate-report-{}.html", std::process::id()));
    std::fs::write(&page, report.html())?;
    assert!(std::fs::read_to_string(&page)?.contains("starting: one more for each success"));
    std::fs::remove_file(page)
}

#[tokio::test(start_paused = true)]
async fn it_counts_from_when_it_is_attached_on() {
    let gate = GateLayer::new(4);
    let feedback = FeedbackLayer::new(HttpClassifier::default(), Aimd::new(), gate.handle());
    let handle = feedback.handle();
    let stack = gate.layer(feedback.layer(service(16)));
    send(&stack, 10).await;
    let early = Report::attach(&handle);
    send(&stack, 10).await;
    let late = Report::attach(&handle);
    send(&stack, 10).await;
    assert!(early.table().starts_with("20 answered in "));
    assert!(late.table().starts_with("10 answered in "));
    assert!(late.clone().table().starts_with("10 answered in "));
}

/// A law that tells whether it is still there.
#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "it is looked for from outside")] Arc<()>);

impl Controller for Held {
    fn on_sample(&mut self, _now: std::time::Instant, _sample: &Sample) -> Option<Change> {
        None
    }

    fn setting(&self) -> Setting {
        Setting::limit(4.0)
    }

    fn move_to(&mut self, _now: std::time::Instant, _limit: f64) {}
}

#[tokio::test(start_paused = true)]
async fn what_it_hears_is_freed_with_the_last_handle_whichever_goes_first() {
    for report_goes_first in [true, false] {
        let law = Arc::new(());
        let there = Arc::downgrade(&law);
        let gate = GateLayer::new(4);
        let feedback =
            FeedbackLayer::new(HttpClassifier::default(), Held(law), gate.handle()).hold_head();
        let report = Report::attach(&feedback.handle());
        let stack = feedback.layer(service(16));
        send(&stack, 3).await;
        if report_goes_first {
            drop(report);
            send(&stack, 3).await;
            drop((stack, feedback));
        } else {
            drop((stack, feedback));
            assert!(report.table().starts_with("3 answered in "));
            drop(report);
        }
        assert_eq!(there.strong_count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_tells_who_waits_and_shows_what_is_seen_of_it() {
    let gate = GateLayer::new(4).hold_head();
    let handle = gate.handle();
    let report = Report::attach(&handle);
    let stack = gate.layer(service(16));
    let moved = async {
        sleep(90.ms()).await;
        handle.set_limit(2);
    };
    // 20 of 24 wait, in steps of 20 ms; at 100 ms only 2 enter.
    tokio::join!(moved, send(&stack, 20), send(&stack, 4));
    let table = report.table();
    let head = "no answer was heard of in 100 ms; limit 4 → 2\n20 waited, at most 120 ms\n";
    assert!(table.starts_with(head), "{table}");
    assert!(table.contains("↓ 4 → 2          moved by hand"), "{table}");
    assert!(report.svg().contains("Waiting to be sent"));
    assert_free(&handle, 2);
}

#[tokio::test(start_paused = true)]
async fn a_gate_at_which_nobody_waits_shows_what_is_moved_by_hand() {
    let gate = GateLayer::new(4).hold_head();
    let handle = gate.handle();
    let report = Report::attach(&handle);
    report.look(now().into_std());
    sleep(100.ms()).await;
    handle.set_limit(2);
    handle.pause_until((now() + 300.ms()).into_std());
    report.look(now().into_std());
    let table = report.table();
    let head = "no answer was heard of in 100 ms; limit 4 → 2\n";
    assert!(table.starts_with(head), "{table}");
    assert!(table.contains("↓ 4 → 2          moved by hand"), "{table}");
    assert!(table.contains("pause 300 ms     moved by hand"), "{table}");
}

#[tokio::test(start_paused = true)]
async fn who_is_refused_counts_by_why_whether_a_law_is_there_or_not() {
    let gate = GateLayer::new(1).max_queue(1).hold_head();
    let rate = RateLayer::new(per_second(1.0)).max_wait(2.s());
    let prober = ProberLayer::new(HttpClassifier::default())
        .start(1)
        .hold_head();
    let doors: [Arc<dyn Steer>; 3] = [
        Arc::new(gate.handle()),
        Arc::new(rate.handle()),
        Arc::new(prober.handle()),
    ];
    prober.handle().set_max_queue(1);
    let reports = doors.each_ref().map(Report::attach);
    let _ = join_all((0..4).map(|_| gate.layer(service(16)).oneshot(Request::new(())))).await;
    let _ = join_all((0..4).map(|_| rate.layer(service(16)).oneshot(Request::new(())))).await;
    let _ = join_all((0..4).map(|_| prober.layer(service(16)).oneshot(Request::new(())))).await;
    let tables = reports.map(|report| report.table());
    for (table, said) in tables.iter().zip([
        "1 waited, at most 20 ms; refused unsent: 2 queue full\n",
        "2 waited, at most 2.00 s; refused unsent: 1 wait too long\n",
        "1 waited, at most 20 ms; refused unsent: 2 queue full\n",
    ]) {
        assert!(table.contains(said), "{table}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_setpoint_that_is_moved_while_it_runs_is_a_change() {
    let governor = GovernorLayer::new(HttpClassifier::default()).hold_head();
    let handle = governor.handle();
    let report = Report::attach(&handle);
    let stack = governor.layer(service(16));
    send(&stack, 100).await;
    handle.set_setpoint(0.02).unwrap();
    send(&stack, 100).await;
    let table = report.table();
    assert!(table.contains("setpoint 5 → 2 %"), "{table}");
    for view in [report.svg(), report.html()] {
        assert!(view.contains("setpoint 5 → 2 %: moved by hand"), "{view}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_any_kind_can_be_reported_on() {
    let gate = GateLayer::new(4);
    let handles: Vec<Arc<dyn Steer>> = vec![
        Arc::new(gate.handle()),
        Arc::new(ProberLayer::new(HttpClassifier::default()).handle()),
    ];
    for handle in handles {
        let report = Report::attach(&handle);
        report.look(now().into_std());
        assert!(report.table().contains("no answer was heard of in 0 ms"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_moved_while_the_law_is_held_was_moved_by_hand() {
    let prober = ProberLayer::new(HttpClassifier::default())
        .start(4)
        .hold_head();
    let handle = prober.handle();
    let report = Report::attach(&handle);
    let stack = prober.layer(service(16));
    handle.freeze();
    send(&stack, 8).await;
    handle.set_limit(9);
    send(&stack, 8).await;
    let table = report.table();
    assert!(table.contains("↑ 4 → 9          moved by hand"), "{table}");
}
