//! Inputs of all kinds.

use std::convert::Infallible;
use std::future::ready;
use std::iter;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tidegate_batch::{Batch, Moment};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tower::limit::ConcurrencyLimit;
use tower::service_fn;

use crate::support::{Gauge, Limit, Log, ms};

async fn echo(request: u64) -> Result<u64, Infallible> {
    sleep(ms(10)).await;
    Ok(request)
}

#[tokio::test(start_paused = true)]
async fn of_nothing_nothing_is_done() {
    let moments = Log::default();
    let shown = moments.clone();
    let summary = Batch::new(service_fn(echo), [])
        .progress(move |moment: &Moment| {
            assert_eq!((moment.requests, moment.done()), (Some(0), 0));
            shown.add(moment.under_way);
        })
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!(summary.counts, tidegate_batch::Counts::default());
    assert_eq!(summary.latency(0.5), None);
    assert_eq!(summary.took, Duration::ZERO);
    assert!(summary.stopped.is_none());
    assert_eq!(moments.all(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_late_ends_the_run_late() {
    let late =
        stream::iter(0..3).chain(stream::once(sleep(ms(5_000))).filter_map(|()| ready(None)));
    let summary = Batch::stream(service_fn(echo), late)
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, summary.took), (3, ms(5_000)));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_slower_than_the_service_is_sent_as_it_comes() {
    let slow = stream::iter(0..5).then(|n| async move {
        sleep(ms(100)).await;
        n
    });
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let mut results = Batch::stream(service_fn(echo), slow).each(move |_, answer| {
        let inside = inside.enter();
        async move {
            drop(inside);
            answer
        }
    });
    let started = now();
    let mut ends = Vec::new();
    while let Some(ended) = results.next().await {
        ends.push((ended.index, (now() - started).as_millis()));
    }
    assert_eq!(ends, [(0, 110), (1, 210), (2, 310), (3, 410), (4, 510)]);
    assert_eq!(gauge.peak(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_a_stream_is_waited_for_what_failed_is_tried_again() {
    let slow = stream::iter([0]).chain(stream::once(async {
        sleep(ms(1_000)).await;
        1
    }));
    let log = Log::default();
    let tried = log.clone();
    let summary = Batch::stream(service_fn(echo), slow)
        .again(2, |request| Some(*request))
        .each(move |index, _| {
            tried.add(index);
            async move { if index == 0 { Err("zero") } else { Ok(()) } }
        })
        .run()
        .await;
    assert_eq!(log.all(), [0, 0, 0, 1]);
    assert_eq!(summary.took, ms(1_010));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_is_waited_for() {
    let gauge = Gauge::default();
    let inside = gauge.clone();
    let service = ConcurrencyLimit::new(
        service_fn(move |request| {
            let inside = inside.enter();
            async move {
                let answer = echo(request).await;
                drop(inside);
                answer
            }
        }),
        3,
    );
    let summary = Batch::new(service, 0..30)
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, gauge.peak()), (30, 3));
    assert_eq!(summary.took, ms(100));
}

#[tokio::test(start_paused = true)]
async fn an_input_without_end_is_asked_for_no_more_than_there_is_room_for() {
    let asked = Gauge::default();
    let given = asked.clone();
    let endless = iter::repeat_with(move || {
        std::mem::forget(given.enter());
        1
    });
    let summary = Batch::new(service_fn(echo), endless)
        .window(5)
        .until(sleep(ms(35)))
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!((summary.counts.succeeded, asked.now()), (20, 20));
    assert_eq!((summary.left.from, summary.left.count()), (20, None));
}

#[tokio::test(start_paused = true)]
async fn whoever_takes_results_slowly_has_two_windows_begun_and_no_more() {
    let begun = Log::default();
    let sent = begun.clone();
    let service = service_fn(move |request| {
        sent.add(request as usize);
        echo(request)
    });
    let mut results = Batch::new(service, 0..)
        .window(5)
        .each(|_, answer| async move { answer });
    let mut most = 0;
    for taken in 1..=100 {
        results.next().await.unwrap();
        sleep(ms(1_000)).await;
        most = most.max(begun.all().len() - taken);
    }
    assert_eq!(most, 9);
}

#[tokio::test(start_paused = true)]
async fn progress_is_shown_at_the_start_ten_times_a_second_and_at_the_end() {
    let moments = Log::default();
    let shown = moments.clone();
    let started = now();
    let summary = Batch::new(service_fn(echo), 0..26)
        .steer(Limit::new(1))
        .ahead(0)
        .progress(move |moment: &Moment| {
            assert_eq!(moment.steer.unwrap().limit, 1);
            shown.add((now() - started).as_millis() as usize);
            shown.add(moment.done());
        })
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!(summary.took, ms(260));
    // At 100 ms the tenth ends too, whichever is seen first.
    let [times, done]: [Vec<_>; 2] =
        [0, 1].map(|part| moments.all().into_iter().skip(part).step_by(2).collect());
    assert_eq!(times, [0, 100, 200, 260]);
    assert_eq!((done[0], done[3]), (0, 26));
    assert!(
        (9..=10).contains(&done[1]) && (19..=20).contains(&done[2]),
        "{done:?}"
    );
}

/// Not even between two requests: in real time, since paused time would pass only then.
#[tokio::test]
async fn a_run_that_never_rests_shows_its_progress_too() {
    let (enough, until) = oneshot::channel();
    let (mut enough, mut shown) = (Some(enough), 0);
    let run = Batch::new(
        service_fn(|()| ready(Ok::<_, Infallible>(()))),
        iter::repeat(()),
    )
    .progress(move |_: &Moment| {
        shown += 1;
        if shown == 3 {
            enough.take().unwrap().send(()).unwrap();
        }
    })
    .until(until)
    .each(|_, answer| ready(answer))
    .run();
    let summary = tokio::spawn(run).await.unwrap();
    assert_eq!(summary.counts.ended(), summary.left.from);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' one look at the paused clock"
)]
fn now() -> Instant {
    Instant::now()
}
