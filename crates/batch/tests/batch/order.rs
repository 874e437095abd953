//! In which order results come.

use std::convert::Infallible;

use futures_util::StreamExt;
use tidegate_batch::Batch;
use tidegate_core::Steer;
use tokio::task::yield_now;
use tokio::time::sleep;
use tower::service_fn;

use crate::support::{Limit, Log, ms};

/// Takes as many milliseconds as it is asked for.
async fn wait(request: u64) -> Result<u64, Infallible> {
    sleep(ms(request)).await;
    Ok(request)
}

#[tokio::test(start_paused = true)]
async fn as_they_end_or_as_the_input_is() {
    for in_order in [false, true] {
        let batch = Batch::new(service_fn(wait), [40, 10, 30, 20]);
        let batch = if in_order { batch.in_order() } else { batch };
        let results = batch.each(|_, answer| async move { answer });
        let order: Vec<_> = results.map(|ended| ended.result.unwrap()).collect().await;
        if in_order {
            assert_eq!(order, [40, 10, 30, 20]);
        } else {
            assert_eq!(order, [10, 20, 30, 40]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn in_input_order_no_more_than_a_window_is_held_back() {
    let log = Log::default();
    let begun = log.clone();
    let service = service_fn(move |request| {
        begun.add(request as usize);
        wait(request)
    });
    let mut results = Batch::new(service, (0..100).map(|n| if n == 0 { 1_000 } else { 1 }))
        .window(8)
        .in_order()
        .each(|_, answer| async move { answer });
    let first = results.next().await.unwrap();
    assert_eq!((first.index, log.all().len()), (0, 8));
    let rest: Vec<_> = results.map(|ended| ended.index).collect().await;
    assert_eq!(rest, (1..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn in_input_order_what_fails_first_is_tried_again_and_nothing_passes_it() {
    let mut results = Batch::new(service_fn(wait), 0..50)
        .window(4)
        .in_order()
        .again(3, |request| Some(*request))
        .each(|index, answer| async move {
            if index % 7 == 0 {
                Err("seven")
            } else {
                Ok(answer)
            }
        });
    let mut order = Vec::new();
    while let Some(ended) = results.next().await {
        assert_eq!(ended.tries, if ended.index % 7 == 0 { 4 } else { 1 });
        order.push(ended.index);
    }
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn in_input_order_a_run_that_is_stopped_gives_out_what_it_has() {
    let mut results = Batch::new(service_fn(wait), [20, 5, 6, 7])
        .in_order()
        .again(3, |request| Some(*request))
        .until(sleep(ms(10)))
        .each(|index, answer| async move {
            if index == 0 {
                Err("not yet")
            } else {
                Ok(answer)
            }
        });
    let mut order = Vec::new();
    while let Some(ended) = results.next().await {
        order.push(ended.index);
    }
    assert_eq!(order, [1, 2, 3]);
    assert_eq!(results.into_summary().left.begun, [0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_several_threads_nothing_is_lost_doubled_or_out_of_order() {
    let service = service_fn(|request: u64| async move {
        for _ in 0..request % 3 {
            yield_now().await;
        }
        Ok::<_, Infallible>(request)
    });
    for round in 0..200 {
        let limit = Limit::new(round % 9);
        let moved = limit.clone();
        let batch = Batch::new(service, 0..300)
            .window(1 + round % 13)
            .again(2, |request| Some(*request))
            .steer(limit)
            .ahead(round % 2);
        let in_order = round % 3 == 0;
        let batch = if in_order { batch.in_order() } else { batch };
        let mut results = batch.each(move |index, answer| {
            moved.set_limit((index * 7 + round) % 11);
            async move {
                if index % 5 == 0 {
                    Err("five")
                } else {
                    Ok(answer)
                }
            }
        });
        let mut order = Vec::new();
        while let Some(ended) = results.next().await {
            assert_eq!(ended.tries, if ended.index % 5 == 0 { 3 } else { 1 });
            order.push(ended.index);
        }
        assert!(!in_order || order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (0..300).collect::<Vec<_>>());
        let counts = results.into_summary().counts;
        assert_eq!(
            (counts.succeeded, counts.failed, counts.tries),
            (240, 60, 420)
        );
    }
}
