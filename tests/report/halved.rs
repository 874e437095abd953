//! A run in which half of a service goes and comes back, as its report shows it: a page and a picture,
//! which are left in `target/tidegate/` to be looked at.

use std::time::Duration;
use std::{fs, io};

use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use tidegate::{HttpClassifier, Prober, ProberLayer, Report, Units};
use tidegate_testkit::{Exponential, Upstream};
use tokio::time::sleep;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::now;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tidegate");

/// A prober whose probes do not depend on the time of day, for 45 s: half of the workers are gone in
/// the second third of it.
async fn halved() -> Report {
    let upstream = Upstream::workers(32)
        .queue(32)
        .service_time(Exponential(40.ms()))
        .start_in_process();
    let prober = ProberLayer::new(HttpClassifier::default());
    prober
        .handle()
        .law(|law| *law = Prober::new(Duration::ZERO));
    let report = Report::attach(&prober.handle())
        .title("A prober on 32 workers, of which half are gone from 15 s to 30 s");
    // 10 ms away.
    let direct = upstream.direct();
    let stack = prober.layer(service_fn(move |request: Request<Empty<&'static [u8]>>| {
        let direct = direct.clone();
        async move {
            sleep(10.ms()).await;
            direct.oneshot(request).await
        }
    }));
    let end = now() + 45.s();
    let callers = (0..96).map(|_| async {
        while now() < end {
            let request = Request::new(Empty::new());
            let response = stack.clone().oneshot(request).await.unwrap();
            response.into_body().collect().await.unwrap();
        }
    });
    let capacity = async {
        for capacity in [0.5, 1.0] {
            sleep(15.s()).await;
            upstream.set_capacity(capacity);
        }
    };
    tokio::join!(join_all(callers), capacity);
    report
}

/// The limit at the end of the row that begins so.
fn limit(table: &str, time: &str) -> f64 {
    let row = table.lines().find(|row| row.trim_start().starts_with(time));
    let mut words = row.expect(time).split_whitespace().skip(2);
    words.next().unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_climbs_drops_and_recovers_with_its_service_is_seen_to_and_it_says_why()
-> io::Result<()> {
    let report = halved().await;
    let table = report.table();
    let [before, half, after] = ["12 s", "26 s", "42 s"].map(|time| limit(&table, time));
    assert!((32.0..80.0).contains(&before), "{table}");
    assert!(half < 0.7 * before, "{table}");
    assert!(after > 1.4 * half, "{table}");
    let (picture, page) = (report.svg(), report.html());
    fs::create_dir_all(FOLDER)?;
    fs::write(format!("{FOLDER}/halved.svg"), &picture)?;
    fs::write(format!("{FOLDER}/halved.html"), &page)?;
    for view in [&picture, &page] {
        for why in ["latency grew ", "all in use, and about "] {
            assert!(view.contains(why), "{why}: {view}");
        }
    }
    assert!(page.contains("starting: one more for each success"));
    Ok(())
}
