//! A gate that is closed, and a runtime that ends, in the middle of a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tidegate::batch::{Batch, Stopped};
use tidegate::{BoxError, GateLayer, RefusedReason, Units};
use tokio::runtime::Builder;
use tokio::time::sleep;
use tower::{ServiceBuilder, service_fn};

async fn slow(_: http::Request<String>) -> Result<http::Response<String>, BoxError> {
    sleep(1.s()).await;
    Ok(http::Response::default())
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_is_drained_ends_a_batch_at_once_and_what_is_in_flight_is_done() {
    let gate = GateLayer::new(3).hold_head();
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service_fn(slow);
    let closes = handle.clone();
    let drained = tokio::spawn(async move {
        sleep(1_500.ms()).await;
        closes.drain(10.s()).await
    });
    let summary = Batch::new(stack, vec![http::Request::default(); 100])
        .steer(handle)
        .each(|_, response| async move { response })
        .run()
        .await;
    assert_eq!(drained.await.unwrap(), 0);
    // Eight stood at the gate.
    assert!(matches!(summary.stopped, Some(Stopped::Closed)));
    assert_eq!((summary.counts.succeeded, summary.counts.refused), (6, 8));
    assert_eq!(summary.left.count(), Some(86));
    assert_eq!(summary.took, 2.s());
    assert_eq!(summary.refusals[0].reason, RefusedReason::Closed);
    assert_eq!(summary.refusals.len(), 1);
}

/// At a gate, in flight, and not begun: none of it keeps a runtime from ending.
#[test]
fn a_runtime_that_ends_leaves_nothing_of_a_batch() {
    let alive = Arc::new(AtomicUsize::new(0));
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let begun = Arc::clone(&alive);
    let service = service_fn(move |_: http::Request<()>| {
        let begun = Arc::clone(&begun);
        async move {
            begun.fetch_add(1, SeqCst);
            let _gone = Gone(Arc::clone(&begun));
            sleep(Duration::MAX).await;
            Ok::<_, BoxError>(http::Response::new(String::new()))
        }
    });
    let gate = GateLayer::new(5).hold_head();
    let handle = gate.handle();
    let stack = ServiceBuilder::new().layer(gate).service(service);
    let requests = (0..100).map(|_| http::Request::new(()));
    let run = Batch::new(stack, requests)
        .steer(handle.clone())
        .each(|_, response| async move { response })
        .run();
    let run = runtime.spawn(run);
    while (alive.load(SeqCst), handle.waiting()) != (5, 8) {
        std::thread::yield_now();
    }
    // The run and its window.
    assert_eq!(runtime.metrics().num_alive_tasks(), 1 + 13);
    runtime.shutdown_timeout(60.s());
    assert!(run.is_finished());
    assert_eq!(alive.load(SeqCst), 0);
    assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
}

struct Gone(Arc<AtomicUsize>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
