//! Random faults on top of all that refuses: what the upstream counts is what its clients saw.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Version;
use http_body_util::BodyExt;
use tidegate_testkit::{Exponential, Fault, Response, Upstream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::{VERSIONS, client, get, ms};

const REQUESTS: u64 = 1_000;

/// What the clients saw: heads by their status, and requests that had none.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    heads: BTreeMap<u16, u64>,
    none: u64,
}

impl Seen {
    fn count(&mut self, status: Option<u16>) {
        match status {
            Some(status) => *self.heads.entry(status).or_default() += 1,
            None => self.none += 1,
        }
    }
}

fn upstream(seed: u64) -> Upstream {
    Upstream::workers(6)
        .queue(8)
        .service_time(Exponential(ms(20)))
        .rate(400.0, 20)
        .fail(0.02, 500)
        .seed(seed)
        .respond(|_| Response::new(200).body("hello"))
        .faults(0.33, Fault::EXAMPLES)
        .start_in_process()
}

async fn run(upstream: &Upstream, version: Version) -> Seen {
    let mut requests = JoinSet::new();
    for _ in 0..REQUESTS {
        // Of its own, since a fault of a connection takes its other streams with it.
        let answer = client(upstream, version).request(get("/"));
        requests.spawn(async move {
            let response = timeout(Duration::from_secs(60), answer).await.ok()?.ok()?;
            let status = response.status().as_u16();
            drop(response.into_body().collect().await);
            Some(status)
        });
        sleep(ms(2)).await;
    }
    let mut seen = Seen::default();
    while let Some(status) = requests.join_next().await {
        seen.count(status.unwrap());
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn the_upstream_and_its_clients_agree() {
    for seed in 0..2 {
        for version in VERSIONS {
            let upstream = upstream(seed);
            let seen = run(&upstream, version).await;
            let report = upstream.report();
            let case = format!("seed {seed}, {version:?}: {report:?}");

            assert_eq!(report.arrivals, REQUESTS, "{case}");
            assert_eq!((report.cancelled, report.in_flight), (0, 0), "{case}");
            let cut = report.by_fault.get("reset in the head").copied();
            let expected = Seen {
                heads: report.by_status.clone(),
                none: report.unanswered + cut.unwrap_or(0),
            };
            assert_eq!(seen, expected, "{case}");

            let refused = report.refused + report.limited;
            assert_eq!(seen.heads[&429] + seen.heads[&503], refused, "{case}");
            assert_eq!(
                report.executed,
                REQUESTS - refused - report.unanswered,
                "{case}"
            );
            assert_eq!(report.executed, report.served + report.aborted, "{case}");
            let executed = upstream
                .arrivals()
                .into_iter()
                .filter_map(|arrival| arrival.executed);
            assert_eq!(executed.count() as u64, report.executed, "{case}");
        }
    }
}
