//! Inputs, services and closures that break.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::{StreamExt, stream};
use tidegate_batch::{Batch, Moment, Panicked, Stopped};
use tidegate_core::BoxError;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::sleep;
use tower::service_fn;
use tower_service::Service;

use crate::support::{Gauge, Limit, ms};

async fn slow(request: u64) -> Result<u64, Infallible> {
    sleep(ms(10)).await;
    Ok(request)
}

/// Of three calls one breaks when it is asked whether it is ready, and one panics then.
#[derive(Clone)]
struct Unready(Gauge);

impl Service<u64> for Unready {
    type Response = u64;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<u64, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        let call = self.0.now();
        std::mem::forget(self.0.enter());
        match call % 3 {
            0 => Poll::Ready(Err("not ready, and never will be".into())),
            1 => panic!("not ready at all"),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, request: u64) -> Self::Future {
        assert_ne!(request % 2, 1, "odd");
        Box::pin(ready(Ok(request)))
    }
}

#[tokio::test]
async fn a_service_that_breaks_or_panics_before_it_is_called_or_in_the_call_fails_its_request_alone()
 {
    let calls = Gauge::default();
    let mut results = Batch::new(Unready(calls.clone()), 0..12)
        .window(1)
        .again(1, |request| Some(*request))
        .each(|_, answer| async move { answer });
    let mut ends = Vec::new();
    while let Some(ended) = results.next().await {
        let panic = |error: &tidegate_core::Error| error.find::<Panicked>().cloned();
        let how = match ended.result {
            Ok(_) => "done".to_owned(),
            Err(error) => panic(&error).map_or(error.to_string(), |panic| panic.message),
        };
        ends.push((ended.index, ended.tries, how));
    }
    // 0, 3, 6, 9 break and come again at the end: as the calls 12, 13, 14, and 15.
    let counts = results.into_summary().counts;
    assert_eq!((counts.tries, calls.now()), (16, 16));
    assert_eq!((counts.succeeded, counts.failed), (3, 9));
    let of = |what: &str| {
        let which = ends.iter().filter(|(.., how)| how.contains(what));
        which
            .map(|(index, tries, _)| (*index, *tries))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("done"), [(2, 1), (8, 1), (6, 2)]);
    assert_eq!(
        of("not ready at all"),
        [(1, 1), (4, 1), (7, 1), (10, 1), (3, 2)]
    );
    assert_eq!(of("odd"), [(5, 1), (11, 1)]);
    assert_eq!(of("never will be"), [(0, 2), (9, 2)]);
}

#[tokio::test(start_paused = true)]
async fn an_input_that_panics_ends_the_run_with_its_panic_and_what_is_under_way_too() {
    let gauge = Gauge::default();
    for shown in [false, true] {
        let inside = gauge.clone();
        let service = service_fn(move |request: u64| {
            let inside = inside.enter();
            async move {
                let answer = slow(request).await;
                drop(inside);
                answer
            }
        });
        let input = stream::iter(0..9).then(move |n| async move {
            sleep(ms(1)).await;
            assert!(n < 5 || shown, "no five");
            n
        });
        let run = Batch::stream(service, input)
            .progress(move |moment: &Moment| {
                assert!(moment.done() == 0 || !shown, "no progress");
            })
            .each(|_, answer| async move { answer })
            .run();
        let panic = tokio::spawn(run).await.unwrap_err().into_panic();
        let message = panic.downcast_ref::<&str>().unwrap();
        assert_eq!(*message, if shown { "no progress" } else { "no five" });
        tokio::task::yield_now().await;
        assert_eq!(gauge.now(), 0);
    }
    assert_eq!(gauge.peak(), 9);
}

#[tokio::test(start_paused = true)]
async fn an_input_that_never_comes_holds_up_neither_a_cancel_nor_the_close_of_a_gate() {
    for closes in [true, false] {
        let limit = Limit::new(5);
        let batch = Batch::stream(
            service_fn(slow),
            stream::iter(0..3).chain(stream::poll_fn(|_| Poll::Pending)),
        )
        .steer(limit.clone());
        let batch = if closes {
            tokio::spawn(async move {
                sleep(ms(250)).await;
                limit.close();
            });
            batch
        } else {
            batch.until(sleep(ms(250)))
        };
        let summary = batch.each(|_, answer| async move { answer }).run().await;
        assert_eq!((summary.counts.succeeded, summary.left.from), (3, 3));
        if closes {
            // It is looked at each tenth of a second.
            assert!(matches!(summary.stopped, Some(Stopped::Closed)));
            assert_eq!(summary.took, ms(300));
        } else {
            assert!(matches!(summary.stopped, Some(Stopped::Cancelled)));
            assert_eq!(summary.took, ms(250));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_when_nothing_is_left_stops_nothing() {
    let limit = Limit::new(5);
    let closes = limit.clone();
    let summary = Batch::new(service_fn(slow), 0..3)
        .steer(limit)
        .until(sleep(ms(5)))
        .stop_at_first_failure()
        .each(move |index, answer| {
            closes.close();
            async move { if index == 2 { Err("two") } else { Ok(answer) } }
        })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, summary.counts.failed), (2, 1));
    assert!(summary.stopped.is_none(), "{summary}");
}

/// Driven from outside, as by a `main` that blocks on it.
#[test]
fn a_runtime_that_shuts_down_stops_the_run_and_what_was_under_way_is_left() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let (begun, mut all_begun) = unbounded_channel();
    let service = service_fn(move |request: usize| {
        let begun = begun.clone();
        async move {
            if request < 10 {
                return Ok::<_, Infallible>(());
            }
            begun.send(request).unwrap();
            pending().await
        }
    });
    let run = Batch::new(service, 0..1_000)
        .window(7)
        .steer(Limit::new(9))
        .progress(|_: &Moment| {})
        .each(|_, answer| async move { answer })
        .run();
    let driver = std::thread::spawn(move || handle.block_on(run));
    for _ in 0..7 {
        all_begun.blocking_recv().unwrap();
    }
    runtime.shutdown_background();
    let summary = driver.join().unwrap();
    assert!(
        matches!(summary.stopped, Some(Stopped::Shutdown)),
        "{summary}"
    );
    assert_eq!((summary.counts.tries, summary.counts.succeeded), (10, 10));
    assert_eq!(summary.left.begun, (10..17).collect::<Vec<_>>());
    assert_eq!((summary.left.from, summary.left.count()), (17, Some(990)));
}

/// Who is told of the progress, or gives the requests, lets five tries end and waits until they have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_blocks_the_run_holds_up_nothing_that_is_under_way() {
    for by in ["progress", "input"] {
        let (over, ended) = channel();
        let (may_end, opens) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicBool::new(true)));
        let ends = Arc::clone(&may_end);
        let ended = Mutex::new(ended);
        let blocks = move |here: &str, now: bool| {
            if here == by && now && opens.swap(false, SeqCst) {
                ends.add_permits(6);
                let ended = ended.lock().unwrap();
                (0..5).for_each(|_| ended.recv().unwrap());
            }
        };
        let blocks = Arc::new(blocks);
        let shows = Arc::clone(&blocks);
        let service = service_fn(move |request: u64| {
            let may_end = Arc::clone(&may_end);
            async move { may_end.acquire_owned().await.map(|_| request) }
        });
        let summary = Batch::new(service, (0..6).inspect(move |n| blocks("input", *n == 5)))
            .progress(move |moment: &Moment| shows("progress", moment.under_way == 6))
            .each(move |_, answer| {
                over.send(()).ok();
                ready(answer)
            })
            .run()
            .await;
        assert_eq!((summary.counts.succeeded, summary.counts.failed), (6, 0));
        assert!(summary.stopped.is_none(), "{summary}");
    }
}
