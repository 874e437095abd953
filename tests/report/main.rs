//! A report of layers that run.

#[path = "../support/mod.rs"]
mod support;

use std::io;
use std::sync::Arc;

use futures_util::future::join_all;
use http::{Request, Response};
use tidegate::{
    Aimd, Change, Controller, FeedbackLayer, GateLayer, HttpClassifier, ProberLayer, Report,
    Sample, Setting, Steer, Units,
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
async fn a_gate_has_no_law_and_shows_what_is_seen_of_it() {
    let gate = GateLayer::new(4).hold_head();
    let handle = gate.handle();
    let report = Report::attach(&handle);
    let stack = gate.layer(service(16));
    let watched = async {
        for tick in 0..10 {
            report.look(now().into_std());
            if tick == 5 {
                handle.set_limit(2);
            }
            sleep(100.ms()).await;
        }
    };
    tokio::join!(watched, send(&stack, 100));
    let table = report.table();
    assert!(
        table.starts_with("0 answered in 900 ms: – failed; limit 4 → 2\n"),
        "{table}"
    );
    assert!(table.contains("↓ 4 → 2          moved by hand"), "{table}");
    assert!(report.svg().contains("Waiting to be sent"));
    assert_free(&handle, 2);
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_any_kind_can_be_reported_on() {
    let gate = GateLayer::new(4);
    let handles: Vec<Arc<dyn Steer>> = vec![
        Arc::new(gate.handle()),
        Arc::new(ProberLayer::new(HttpClassifier::default()).handle()),
    ];
    for handle in handles {
        let report = Report::attach_shared(handle);
        report.look(now().into_std());
        assert!(report.table().contains("0 answered in 0 ms"));
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
