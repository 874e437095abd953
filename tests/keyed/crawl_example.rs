//! The example `crawl`: as a program, and its crawler under a clock of its own.

#[path = "../../examples/crawl/capacity.rs"]
mod capacity;
#[path = "../../examples/crawl/crawl.rs"]
mod crawl;
#[path = "../../examples/crawl/page.rs"]
mod page;
#[path = "../support/program.rs"]
mod program;

use std::collections::BTreeMap;

use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tidegate::Units;
use tidegate_testkit::{Exponential, Upstream};

use capacity::Capacity;

/// What it sums up.
fn summary(arguments: &[&str]) -> Value {
    let output = program::program("crawl").args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_crawl_finds_every_page_and_no_host_is_asked_sooner_than_it_allows_redirects_included() {
    let summary = summary(&["--hosts=8", "--pages=12", "--slowest=8", "--json"]);
    let rows = summary["hosts"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    let seconds = |value: &Value, field: &str| value[field].as_f64().unwrap();
    for row in rows {
        let count = |field: &str| row[field].as_u64().unwrap();
        assert_eq!((count("pages"), count("redirected")), (12, 3), "{row}");
        // Its own 12 pages, 3 that have moved, and 3 that those lead to from the site before, which it
        // may know by then.
        assert!((12 + 3..=12 + 3 + 3).contains(&count("requests")), "{row}");
        assert!(count("peak_in_flight") <= count("limit"), "{row}");
        assert!(seconds(row, "seconds") >= seconds(row, "bound"), "{row}");
    }
    assert_eq!(
        rows[0]["bound"], summary["bound"],
        "the slowest comes first"
    );
    assert!(seconds(&summary, "seconds") >= seconds(&summary, "bound"));
}

#[tokio::test(start_paused = true)]
async fn fifty_hosts_are_each_asked_as_often_as_they_allow_and_all_are_done_when_the_slowest_is() {
    const HOSTS: u32 = 50;
    const PAGES: u32 = 40;
    let upstream = Upstream::unlimited()
        .service_time(Exponential(10.ms()))
        .key(|head| head.headers["host"].to_str().unwrap().to_owned())
        .respond(|request| {
            let host = request.headers()["host"].to_str().unwrap();
            let number: u32 = host["host-".len()..][..2].parse().unwrap();
            let next = || format!("host-{:02}.example", (number + 1) % HOSTS);
            page::respond(request.uri().path(), PAGES, &next)
        })
        .start_in_process();
    let hosts: BTreeMap<String, Capacity> = (0..HOSTS)
        .map(|number| {
            let capacity = Capacity::of(number, HOSTS, 2.0, 20.0);
            (format!("host-{number:02}.example"), capacity)
        })
        .collect();
    let client = Client::builder(TokioExecutor::new()).build(upstream.connector());
    let crawl = crawl::crawl(client, &hosts).await.unwrap();

    let arrivals = upstream.arrivals();
    let mut slowest = 0.0_f64;
    for (host, capacity) in &hosts {
        let of_host = arrivals.iter().filter(|arrival| *arrival.key == **host);
        let arrived: Vec<_> = of_host.map(|arrival| arrival.at.as_secs_f64()).collect();
        let starts = &crawl.starts[host];
        assert_eq!(arrived.len(), starts.len(), "{host}");
        assert_eq!(crawl.pages[host].len(), PAGES as usize, "{host}");
        // Each hop is one of them. Tokio's timers tick once in a millisecond.
        for starts in [starts, &arrived] {
            let worst = capacity.worst_window(starts);
            let tick = 0.001 * capacity.rate;
            assert!(worst <= f64::from(capacity.burst) + tick, "{host}: {worst}");
        }
        slowest = slowest.max(capacity.bound(starts.len()));
    }
    println!("{:.3} s of {slowest:.3} s", crawl.seconds);
    assert!(crawl.seconds >= slowest);
    assert!(
        crawl.seconds <= 1.1 * slowest,
        "{} {slowest}",
        crawl.seconds
    );
}
