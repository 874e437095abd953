//! A run that is dropped wherever it waits gives everything back.

use std::future::poll_fn;
use std::task::Poll;

use futures_util::{FutureExt, StreamExt, stream};
use tidegate::batch::Batch;
use tidegate::{BoxError, GateHandle, GateLayer, Units};
use tidegate_testkit::{Exponential, Response, Upstream};
use tokio::task::yield_now;
use tokio::time::sleep;
use tower::ServiceBuilder;

use crate::support::assert_free;
use crate::{client, read, requests};

/// Drops `run` after so many polls, unless it ends before; whether it did.
async fn polled<F: Future>(run: F, mut polls: usize) -> bool {
    let mut run = Box::pin(run);
    poll_fn(|context| {
        if polls == 0 {
            return Poll::Ready(false);
        }
        polls -= 1;
        run.as_mut().poll(context).map(|_| true)
    })
    .await
}

/// What was dropped is gone when its tasks were polled once more, and a body when its connection was.
async fn freed(gate: &GateHandle) {
    for _ in 0..50 {
        yield_now().await;
    }
    assert_free(gate, 3);
}

#[tokio::test(start_paused = true)]
async fn dropped_at_each_of_its_awaits_it_leaves_nobody_in_the_gate() {
    for results in [false, true] {
        let upstream = Upstream::unlimited()
            .service_time(Exponential(10.ms()))
            .seed(1)
            .respond(|_| Response::new(200).chunks(3, "tide ", 5.ms()))
            .start_in_process();
        let gate = GateLayer::new(3);
        let handle = gate.handle();
        let stack = ServiceBuilder::new().layer(gate).service(client(&upstream));
        let mut polls = 1;
        loop {
            let run = Batch::new(stack.clone(), requests(&upstream, 40))
                .steer(handle.clone())
                .again(1, |request| Some(request.clone()))
                .each(|index, response| async move {
                    let body = read(response).await?;
                    sleep(1.ms()).await;
                    if index % 4 == 0 {
                        Err(BoxError::from("four"))
                    } else {
                        Ok(body)
                    }
                });
            let ended = if results {
                polled(run.count().map(|ended| assert_eq!(ended, 40)), polls).await
            } else {
                polled(
                    run.run().map(|run| assert_eq!(run.counts.ended(), 40)),
                    polls,
                )
                .await
            };
            freed(&handle).await;
            if ended {
                break;
            }
            polls += 1;
        }
        assert!(polls > 20, "{polls}");
    }
}

/// A task of its own, on another thread than its requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_at_any_time_it_leaves_nobody_in_the_gate() {
    let gate = GateLayer::new(3).hold_head();
    let handle = gate.handle();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .service_fn(async |_: http::Request<()>| {
            yield_now().await;
            Ok::<_, BoxError>(http::Response::new(()))
        });
    for spins in 0..300 {
        let endless = stream::repeat_with(|| http::Request::new(()));
        let run = Batch::stream(stack.clone(), endless)
            .steer(handle.clone())
            .each(|_, response| async move { response })
            .run();
        let run = tokio::spawn(run);
        for _ in 0..spins {
            yield_now().await;
        }
        run.abort();
        assert!(run.await.unwrap_err().is_cancelled());
        while (handle.in_flight(), handle.waiting()) != (0, 0) {
            yield_now().await;
        }
    }
}
