//! A limit that is moved under load.

use tidegate::batch::Batch;
use tidegate::{GateLayer, Units};
use tidegate_testkit::{Fixed, Upstream};
use tokio::time::sleep;
use tower::ServiceBuilder;

use crate::support::assert_free;
use crate::{client, read, requests};

#[tokio::test(start_paused = true)]
async fn from_one_to_a_thousand_and_back_the_window_follows() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(100.ms()))
        .start_in_process();
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service(client(&upstream));
    let run = Batch::new(stack, requests(&upstream, 5_000))
        .window(usize::MAX)
        .steer(handle.clone())
        .each(|_, response| read(response))
        .run();
    let run = tokio::spawn(run);
    let stands = || (handle.in_flight(), handle.waiting());

    sleep(1_050.ms()).await;
    assert_eq!((stands(), upstream.report().served), ((1, 8), 10));
    handle.set_limit(1_000);
    // It is looked at each tenth of a second.
    sleep(100.ms()).await;
    assert_eq!(stands(), (1_000, 8));
    sleep(200.ms()).await;
    assert_eq!(stands(), (1_000, 8));
    handle.set_limit(1);
    sleep(100.ms()).await;
    assert_eq!(stands(), (1, 8));
    handle.set_limit(1_000);
    let summary = run.await.unwrap();
    assert_eq!(summary.counts.succeeded, 5_000, "{summary}");
    assert_eq!(upstream.peak_in_flight(), 1_000);
    assert_free(&handle, 1_000);
}
