//! How a run ends before its input does.

use std::convert::Infallible;

use futures_util::{FutureExt, StreamExt};
use tidegate_batch::{Batch, Left, Stopped};
use tidegate_core::BoxError;
use tokio::time::sleep;
use tower::service_fn;

use crate::support::{Gauge, Log, ms};

async fn slow(request: u64) -> Result<u64, Infallible> {
    sleep(ms(10)).await;
    Ok(request)
}

#[tokio::test(start_paused = true)]
async fn cancelled_what_is_under_way_ends_and_what_is_left_is_told() {
    let log = Log::default();
    let done = log.clone();
    let summary = Batch::new(service_fn(slow), 0..100)
        .window(4)
        .until(sleep(ms(25)))
        .each(move |index, answer| {
            done.add(index);
            async move { answer }
        })
        .run()
        .await;
    assert!(matches!(summary.stopped, Some(Stopped::Cancelled)));
    assert_eq!(log.all(), (0..12).collect::<Vec<_>>());
    assert_eq!(summary.took, ms(30));
    let left = Left {
        begun: vec![],
        from: 12,
        fresh: Some(88),
    };
    assert_eq!(summary.left, left);
    assert!(summary.to_string().ends_with("\ncancelled; 88 left"));
}

#[tokio::test(start_paused = true)]
async fn cancelled_what_was_to_be_tried_again_is_left() {
    let fails = service_fn(|_: u32| async {
        sleep(ms(10)).await;
        Err::<(), _>("down")
    });
    let summary = Batch::new(fails, 0..100)
        .window(2)
        .again(9, |request| Some(*request))
        .until(sleep(ms(5)))
        .each(|_, answer| async move { answer })
        .run()
        .await;
    let left = Left {
        begun: vec![0, 1],
        from: 2,
        fresh: Some(98),
    };
    assert_eq!(summary.left, left);
    assert_eq!((summary.counts.ended(), summary.counts.tries), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn cancelled_before_it_began_nothing_is_sent() {
    let summary = Batch::new(service_fn(slow), 0..3)
        .until(async {})
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!((summary.counts.tries, summary.left.count()), (0, Some(3)));
}

#[tokio::test(start_paused = true)]
async fn at_the_first_failure_it_stops_if_it_shall() {
    for stops in [true, false] {
        let service = service_fn(|request: u64| async move {
            sleep(ms(request)).await;
            if request == 20 { Err("twenty") } else { Ok(()) }
        });
        let batch = Batch::new(service, [10, 20, 30, 40, 50]).window(2);
        let batch = if stops {
            batch.stop_at_first_failure()
        } else {
            batch
        };
        let summary = batch.each(|_, answer| async move { answer }).run().await;
        assert_eq!(summary.first_failure, Some((1, "twenty".to_owned())));
        if stops {
            // 30 was under way.
            assert!(matches!(summary.stopped, Some(Stopped::FirstFailure)));
            assert_eq!((summary.counts.succeeded, summary.left.from), (2, 3));
        } else {
            assert!(summary.stopped.is_none());
            assert_eq!((summary.counts.succeeded, summary.left.from), (4, 5));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_ends_what_is_under_way() {
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let service = service_fn(move |_: u32| {
        let inside = inside.enter();
        async move {
            sleep(ms(1_000)).await;
            drop(inside);
            Ok::<_, BoxError>(())
        }
    });
    let mut run = Box::pin(
        Batch::new(service, 0..100)
            .window(7)
            .each(|_, answer| async move { answer })
            .run(),
    );
    tokio::select! {
        _ = &mut run => panic!("it takes a second"),
        () = sleep(ms(10)) => {}
    }
    assert_eq!(gauge.now(), 7);
    drop(run);
    tokio::task::yield_now().await;
    assert_eq!(gauge.now(), 0);
}

#[tokio::test(start_paused = true)]
async fn results_that_are_not_taken_to_the_end_say_what_was_under_way() {
    let service = service_fn(|request: u64| async move {
        sleep(ms(request)).await;
        Ok::<_, Infallible>(())
    });
    let mut results = Batch::new(service, [10, 5, 30, 40])
        .window(3)
        .each(|_, answer| async move { answer });
    assert_eq!(results.next().await.unwrap().index, 1);
    assert!(results.next().now_or_never().is_none());
    let summary = results.into_summary();
    assert!(matches!(summary.stopped, Some(Stopped::Dropped)));
    let left = Left {
        begun: vec![0, 2, 3],
        from: 4,
        fresh: Some(0),
    };
    assert_eq!((summary.left, summary.took), (left, ms(5)));
}
