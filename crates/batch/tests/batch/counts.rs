//! What a summary counts.

use tidegate_batch::{Batch, Counts, Failed, Panicked};
use tidegate_core::{BoxError, Error, Refused, RefusedReason};
use tokio::time::sleep;
use tower::service_fn;

use crate::support::{Log, ms};

/// Answers after as many milliseconds as it is asked for; refuses 100, and breaks at 200.
async fn answer(request: u64) -> Result<u64, Error> {
    sleep(ms(request)).await;
    match request {
        100 => {
            let reason = RefusedReason::QueueFull { max_queue: 3 };
            Err(Refused::new("gate", reason).into())
        }
        200 => Err(Error::service(std::io::Error::other("reset"))),
        _ => Ok(request),
    }
}

fn counts(change: impl FnOnce(&mut Counts)) -> Counts {
    let mut counts = Counts::default();
    change(&mut counts);
    counts
}

#[tokio::test(start_paused = true)]
async fn each_request_counts_once_and_the_time_is_exact() {
    let summary = Batch::new(service_fn(answer), [10, 20, 30, 100, 200, 40])
        .window(2)
        .each(|_, answer| async move { answer })
        .run()
        .await;
    assert_eq!(
        summary.counts,
        counts(|counts| {
            counts.succeeded = 4;
            counts.refused = 1;
            counts.failed = 1;
            counts.tries = 6;
            counts.failed_tries = 2;
        })
    );
    // 10, 30, 200 end at 10, 40, 240 on one side; 20, 100, 40 at 20, 120, 160 on the other.
    assert_eq!(summary.took, ms(240));
    assert_eq!(summary.latency(0.0), Some(ms(10)));
    // To three digits.
    let median = summary.latency(0.5).unwrap();
    assert!((ms(20)..ms(21)).contains(&median), "{median:?}");
    assert_eq!(summary.stopped.is_none(), summary.left.count() == Some(0));
    assert_eq!(
        summary.first_failure,
        Some((
            3,
            "refused by gate, nothing was sent: the queue is full (3 may wait)".to_owned()
        ))
    );
    let [refusals] = &summary.refusals[..] else {
        panic!("one layer for one reason, not {:?}", summary.refusals);
    };
    assert_eq!((refusals.by, refusals.tries), ("gate", 1));
    let text = summary.to_string();
    assert!(
        text.starts_with("6 requests in 240.00ms: 4 succeeded, 1 refused, 1 failed; 6 tries"),
        "{text}"
    );
    assert!(text.contains("\nrefused by gate 1 times: the queue is full (3 may wait)"));
}

#[tokio::test(start_paused = true)]
async fn what_anyhow_has_wrapped_is_a_refusal_still() {
    let summary = Batch::new(service_fn(answer), [100, 200])
        .each(|_, answer| async move { anyhow::Ok(answer?) })
        .run()
        .await;
    assert_eq!((summary.counts.refused, summary.counts.failed), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_closure_says_what_a_success_is() {
    let summary = Batch::new(service_fn(answer), [1, 2, 100, 200])
        .each(|_, answer| async move {
            match answer {
                Ok(1) => Err(Failed::for_good("one is not welcome")),
                Ok(_) | Err(_) => Ok(()),
            }
        })
        .run()
        .await;
    assert_eq!(summary.counts.succeeded, 3);
    assert_eq!(summary.counts.failed, 1);
    // What was refused and is done all the same is no refusal of the run.
    assert!(summary.refusals.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_failed_goes_back_to_the_tail_so_many_times() {
    let log = Log::default();
    let tried = log.clone();
    let summary = Batch::new(service_fn(answer), [200, 1, 2, 3])
        .window(1)
        .again(2, |request| Some(*request))
        .each(move |index, answer| {
            tried.add(index);
            async move { answer }
        })
        .run()
        .await;
    assert_eq!(log.all(), [0, 1, 2, 3, 0, 0]);
    let Counts {
        succeeded,
        failed,
        tries,
        failed_tries,
        ..
    } = summary.counts;
    assert_eq!((succeeded, failed, tries, failed_tries), (3, 1, 6, 3));
}

#[tokio::test(start_paused = true)]
async fn what_failed_for_good_or_has_no_copy_is_not_tried_again() {
    for copies in [true, false] {
        let summary = Batch::new(service_fn(answer), [200])
            .again(5, move |request| copies.then_some(*request))
            .each(move |_, answer| async move {
                match answer {
                    Err(error) if copies => Err(Failed::for_good(error)),
                    Err(error) => Err(error.into()),
                    Ok(_) => Ok(()),
                }
            })
            .run()
            .await;
        assert_eq!((summary.counts.tries, summary.counts.failed), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn many_failures_at_the_tail_come_before_fresh_requests_so_that_few_are_kept() {
    let log = Log::default();
    let tried = log.clone();
    let fails = service_fn(|_: usize| async { Err::<(), _>("down") });
    let summary = Batch::new(fails, 0..3_000)
        .window(1)
        .again(1, |request| Some(*request))
        .each(move |index, answer| {
            tried.add(index);
            async move { answer }
        })
        .run()
        .await;
    let log = log.all();
    assert_eq!(log[..1_000], (0..1_000).collect::<Vec<_>>());
    // Now as many stand there as may: for each that is tried again one fresh one is begun.
    assert_eq!(log[1_000..1_006], [0, 1_000, 1, 1_001, 2, 1_002]);
    assert_eq!(
        (summary.counts.tries, summary.counts.failed),
        (6_000, 3_000)
    );
}

#[tokio::test]
async fn a_panic_is_the_failure_of_its_index_and_the_others_go_on() {
    let service = service_fn(|request: u32| async move {
        assert_ne!(request, 3, "no three in the service");
        Ok::<_, BoxError>(request)
    });
    let mut results = Batch::new(service, 0..10)
        .again(3, |request| Some(*request))
        .in_order()
        .each(|index, answer| {
            assert_ne!(index, 5, "no five before the future");
            async move {
                assert_ne!(index, 7, "no seven within");
                answer
            }
        });
    let mut panicked = Vec::new();
    while let Some(ended) = futures_util::StreamExt::next(&mut results).await {
        if let Err(error) = &ended.result {
            let message = &error.find::<Panicked>().unwrap().message;
            panicked.push((ended.index, ended.tries, message.contains("no ")));
        }
    }
    assert_eq!(panicked, [(3, 1, true), (5, 1, true), (7, 1, true)]);
    let counts = results.into_summary().counts;
    assert_eq!(
        (counts.succeeded, counts.failed, counts.panicked),
        (7, 3, 3)
    );
}
