//! The example that Prometheus scrapes, and the dashboard for it.

#![cfg(unix)]

use std::io::BufRead;

use http::StatusCode;

use crate::dashboard::{Dashboard, Query};
use crate::exposition::Exposition;
use crate::output;
use crate::service::Service;

/// What the example shows once its run is over.
async fn scrape() -> String {
    let mut service = Service::start("metrics");
    let mut told = String::new();
    service.told.read_line(&mut told).unwrap();
    assert_eq!(told, "4 of ten at once were refused\n");
    let (status, _, text) = service.get("").await;
    assert_eq!(status, StatusCode::OK);
    service.interrupt();
    assert!(service.child.wait().unwrap().success());
    text
}

#[tokio::test]
async fn what_prometheus_scrapes_is_exact_described_and_without_secrets() {
    let text = scrape().await;
    assert!(!text.contains("secret"), "{text}");
    let shown = Exposition::parse(&text);
    for (name, having, value) in [
        // 100 requests one after the other, of which 11 were sent again, and 6 of the burst.
        ("http_client_request_duration_seconds_count", &[][..], 117.0),
        (
            "http_client_request_duration_seconds_count",
            &[("http_response_status_code", "200")],
            106.0,
        ),
        (
            "http_client_request_duration_seconds_count",
            &[("error_type", "503")],
            11.0,
        ),
        (
            "http_client_request_duration_seconds_bucket",
            &[("le", "+Inf")],
            117.0,
        ),
        ("tidegate_retry_attempts_total", &[], 11.0),
        ("tidegate_retry_gave_up_total", &[], 0.0),
        (
            "tidegate_gate_outcomes_total",
            &[("tidegate_outcome", "success")],
            106.0,
        ),
        (
            "tidegate_gate_outcomes_total",
            &[("tidegate_outcome", "unavailable")],
            11.0,
        ),
        (
            "tidegate_gate_outcomes_total",
            &[("tidegate_key", "other")],
            0.0,
        ),
        (
            "tidegate_gate_refused_total",
            &[("tidegate_reason", "queue_full")],
            4.0,
        ),
        ("tidegate_gate_refused_total", &[], 4.0),
        (
            "tidegate_governor_setpoint_ratio",
            &[("tidegate_key", "red")],
            0.15,
        ),
        ("tidegate_gate_in_flight", &[], 0.0),
        ("tidegate_gate_waiting", &[], 0.0),
        (
            "tidegate_rate_pace_count_per_second",
            &[("tidegate_key", "blue")],
            1_000.0,
        ),
        ("tidegate_rate_refused_total", &[], 0.0),
        ("tidegate_gate_pause_seconds", &[], 0.0),
        ("tidegate_rate_pause_seconds", &[], 0.0),
    ] {
        let sum = shown.sum(name, having);
        assert!(
            (sum - value).abs() < 1e-9,
            "{name} {having:?} is {sum}\n{text}"
        );
    }
    // The two that waited at the gate, whatever those did that waited at their governor.
    let waited = |having: &[_]| shown.sum("tidegate_gate_wait_duration_seconds_count", having);
    let keys = ["red", "blue", "other"].map(|key| waited(&[("tidegate_key", key)]));
    let keyed: f64 = keys.iter().sum();
    assert!((waited(&[]) - keyed - 2.0).abs() < 1e-9, "{text}");

    for (name, family) in &shown.families {
        assert!(
            !family.help.is_empty() && !family.kind.is_empty(),
            "{name} {family:?}"
        );
        let unit = match &*family.kind {
            "histogram" => "_seconds",
            "counter" => "_total",
            _ => "",
        };
        assert!(name.ends_with(unit), "{name} {family:?}");
    }
}

#[tokio::test]
async fn each_query_of_the_dashboard_asks_for_what_there_is() {
    let shown = Exposition::parse(&scrape().await);
    let dashboard = Dashboard::read();
    assert!(dashboard.queries.len() > 20);
    for query in &dashboard.queries {
        if let Err(what) = query.check(&shown) {
            panic!("{what} in {query:?}");
        }
    }
    // Whatever is shown is looked at.
    let asked: Vec<&str> = dashboard.queries.iter().flat_map(Query::metrics).collect();
    for name in shown.families.keys() {
        assert!(
            asked.iter().any(|asked| asked.starts_with(name.as_str())),
            "{name} is not asked for"
        );
    }
}

#[test]
fn it_says_what_it_can_be_told_and_does_not_begin() {
    let told = output("metrics", &["--help"]);
    assert!(
        told.contains("--port <PORT>") && !told.contains("http://"),
        "{told}"
    );
}

#[test]
fn the_dashboard_names_no_data_source_of_its_own() {
    let dashboard = Dashboard::read();
    for uid in &dashboard.data_sources {
        assert_eq!(uid, "${datasource}");
    }
    assert_eq!(dashboard.variables, ["datasource", "stack", "key"]);
}
