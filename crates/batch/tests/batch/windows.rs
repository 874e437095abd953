//! How many are under way.

use std::convert::Infallible;

use futures_util::StreamExt;
use tidegate_batch::{Batch, Cores};
use tidegate_core::Steer;
use tokio::time::sleep;
use tower::service_fn;

use crate::support::{Gauge, Limit, ms};

#[tokio::test(start_paused = true)]
async fn there_are_never_more_tasks_than_the_window() {
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let service = service_fn(move |n: u64| {
        let inside = inside.enter();
        async move {
            sleep(ms(1 + n % 7)).await;
            drop(inside);
            Ok::<_, Infallible>(())
        }
    });
    let summary = Batch::new(service, 0..1_000)
        .window(13)
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, gauge.peak()), (1_000, 13));
}

#[tokio::test(start_paused = true)]
async fn the_window_follows_a_limit_up_and_down() {
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let service = service_fn(move |()| {
        let inside = inside.enter();
        async move {
            sleep(ms(1_000)).await;
            drop(inside);
            Ok::<_, Infallible>(())
        }
    });
    let limit = Limit::new(10);
    let mut results = Batch::new(service, std::iter::repeat_n((), 200))
        .window(50)
        .steer(limit.clone())
        .each(|_, answer| async move { answer });
    let mut until = async |time| {
        let end = sleep(ms(time));
        tokio::pin!(end);
        loop {
            tokio::select! {
                Some(_) = results.next() => {}
                () = &mut end => return gauge.now(),
            }
        }
    };
    assert_eq!(until(500).await, 18);
    // By hand, while nothing ends and nobody polls: seen within a tenth of a second.
    let by_hand = limit.clone();
    tokio::spawn(async move {
        sleep(ms(50)).await;
        by_hand.set_limit(30);
    });
    assert_eq!(until(160).await, 38);
    // Up to the widest window.
    limit.set_limit(usize::MAX);
    assert_eq!(until(90).await, 50);
    // At 1,000 ms the first 18 end, and no other begins; at 1,600 ms 20 more.
    limit.set_limit(2);
    assert_eq!(until(400).await, 32);
    limit.set_limit(0);
    assert_eq!(until(480).await, 12);
    assert_eq!(until(2_000).await, 9);
    assert_eq!(gauge.peak(), 50);
}

#[tokio::test]
async fn work_for_the_cores_is_done_by_as_many_as_there_are() {
    let (gauge, cores) = (Gauge::default(), Cores::of(2));
    let service = service_fn(|n: u32| async move { Ok::<_, Infallible>(n) });
    let inside = gauge.clone();
    let summary = Batch::new(service, 0..100)
        .each(move |_, answer| {
            let (inside, cores) = (inside.clone(), cores.clone());
            async move {
                let n = answer?;
                let work = move || {
                    let _inside = inside.enter();
                    assert_ne!(n, 50, "work that panics");
                    (0..10_000).fold(n, |sum, k| sum.wrapping_mul(31).wrapping_add(k))
                };
                Ok::<_, tidegate_core::Error>(cores.run(work).await)
            }
        })
        .run()
        .await;
    assert_eq!(gauge.now(), 0);
    assert!((1..=2).contains(&gauge.peak()), "{}", gauge.peak());
    assert_eq!((summary.counts.succeeded, summary.counts.panicked), (99, 1));
}
