//! The window, the gate and the bodies work together.

use futures_util::StreamExt;
use http::Request;
use http_body_util::Full;
use tidegate::batch::Batch;
use tidegate::{
    GateLayer, GovernorLayer, HttpClassifier, ProberLayer, RateLayer, Steer, Units, per_second,
};
use tidegate_testkit::{Fixed, Response, Upstream};
use tokio::time::sleep;
use tower::{Layer, ServiceBuilder};

use crate::loopback::reqwest_client;
use crate::support::{assert_free, now};
use crate::{client, read, requests};

#[tokio::test(start_paused = true)]
async fn a_gate_is_full_all_the_time_and_no_more_than_eight_wait_at_it() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).chunks(5, "tide ", 10.ms()))
        .start_in_process();
    let gate = GateLayer::new(10);
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service(client(&upstream));
    let waiting = handle.clone();
    let summary = Batch::new(stack, requests(&upstream, 400))
        .steer(handle.clone())
        .each(move |_, response| {
            assert!(waiting.waiting() <= 8);
            read(response)
        })
        .run()
        .await;
    assert_eq!(summary.counts.succeeded, 400);
    assert_eq!(upstream.peak_in_flight(), 10);
    // 40 times ten at once; each holds its place to the end of its body.
    assert_eq!(summary.took, 40 * summary.latency(0.0).unwrap());
    assert_free(&handle, 10);
}

/// Twice as much as there is room for, where nobody may wait for long.
#[tokio::test(start_paused = true)]
async fn steered_by_a_gate_with_a_short_queue_nothing_is_refused_and_otherwise_much_is() {
    for steered in [true, false] {
        let upstream = Upstream::unlimited()
            .service_time(Fixed(10.ms()))
            .start_in_process();
        let gate = GateLayer::new(4).max_queue(8);
        let handle = gate.handle();
        let stack = ServiceBuilder::new().layer(gate).service(client(&upstream));
        let mut batch = Batch::new(stack, requests(&upstream, 100)).window(50);
        if steered {
            batch = batch.steer(handle);
        }
        let summary = batch.each(|_, response| read(response)).run().await;
        if steered {
            assert_eq!(summary.counts.succeeded, 100);
        } else {
            assert_eq!(summary.refusals[0].by, "gate");
            assert_eq!(summary.refusals[0].tries, summary.counts.refused);
            assert!(summary.counts.refused > 50, "{summary}");
            assert_eq!(summary.counts.failed, 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_has_no_limit_and_the_window_is_what_is_said() {
    let upstream = Upstream::unlimited().start_in_process();
    let rate = RateLayer::new(per_second(100.0).burst(1));
    let handle = rate.handle();
    let stack = ServiceBuilder::new().layer(rate).service(client(&upstream));
    let door = handle.clone();
    let summary = Batch::new(stack, requests(&upstream, 101))
        .steer(handle)
        .window(20)
        .each(move |_, response| {
            assert!(door.waiting() < 20);
            read(response)
        })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, summary.took), (101, 1.s()));
}

/// The window follows the law: with a limit that starts low the upstream would otherwise starve.
#[tokio::test(start_paused = true)]
async fn laws_find_their_limit_through_a_batch_and_nothing_is_lost() {
    let upstream = || {
        Upstream::workers(16)
            .queue(16)
            .service_time(Fixed(20.ms()))
            .start_in_process()
    };
    let (one, other) = (upstream(), upstream());
    let (prober, governor) = (
        ProberLayer::new(HttpClassifier::default()),
        GovernorLayer::new(HttpClassifier::default()),
    );
    let (found, held) = (prober.handle(), governor.handle());
    let again = |request: &Request<Full<_>>| Some(request.clone());
    let with_prober = Batch::new(prober.layer(client(&one)), requests(&one, 2_000))
        .steer(found.clone())
        .again(5, again)
        .each(|_, response| read(response))
        .run();
    let with_governor = Batch::new(governor.layer(client(&other)), requests(&other, 2_000))
        .steer(held.clone())
        .again(5, again)
        .each(|_, response| read(response))
        .run();
    for (summary, limit) in [
        (with_prober.await, found.snapshot().limit),
        (with_governor.await, held.snapshot().limit),
    ] {
        assert_eq!(summary.counts.succeeded, 2_000, "{summary}");
        // 16 workers of 50 a second would have it done in 2.5 s.
        assert!(summary.took < 4.s(), "{summary}");
        assert!((8..=40).contains(&limit), "{limit}");
    }
}

/// The results of a stream that nobody polls hold no place at a gate: their tasks run by themselves.
#[tokio::test(start_paused = true)]
async fn whoever_takes_results_slowly_keeps_nobody_else_from_the_gate() {
    let upstream = Upstream::unlimited()
        .service_time(Fixed(10.ms()))
        .start_in_process();
    let gate = GateLayer::new(3);
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service(client(&upstream));
    let mut results = Batch::new(stack, requests(&upstream, 20))
        .window(10)
        .each(|_, response| read(response));
    assert_eq!(results.next().await.unwrap().index, 0);
    sleep(1.s()).await;
    // What was begun is over, though nobody asked.
    assert_free(&handle, 3);
    let slept = now();
    assert!(handle.acquire().await.is_ok());
    assert_eq!(now(), slept);
    let rest: Vec<_> = results.map(|ended| ended.result.unwrap()).collect().await;
    assert_eq!(rest.len(), 19);
}

#[tokio::test]
async fn over_reqwest_as_the_readme_has_it() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|request| match request.uri().path() {
            "/7" => Response::new(200).chunk("hel").abort().chunk("lo").sized(),
            _ => Response::new(200).body("hello"),
        })
        .start()
        .await;
    let client = reqwest_client().build()?;
    let gate = GateLayer::new(4);
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service(client.clone());
    let requests = (0..50).map(|n| client.get(format!("{}/{n}", upstream.uri())));
    let requests: Vec<_> = requests
        .map(reqwest::RequestBuilder::build)
        .collect::<Result<_, _>>()?;
    let summary = Batch::new(stack, requests)
        .steer(handle.clone())
        .again(2, reqwest::Request::try_clone)
        .each(|_, response| async move { anyhow::Ok(response?.bytes().await?.len()) })
        .run()
        .await;
    let counts = summary.counts;
    assert_eq!((counts.succeeded, counts.failed, counts.tries), (49, 1, 52));
    let (index, why) = summary.first_failure.unwrap();
    assert_eq!(index, 7);
    assert!(why.contains("body"), "{why}");
    assert_eq!(upstream.report().by_key["/7"], 3);
    assert!(upstream.peak_in_flight() <= 4);
    assert_free(&handle, 4);
    Ok(())
}
