//! A stack with a law when its calls are parked, its gate is closed, or its runtime ends.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use tidegate::{Aimd, Answer, Feedback, FeedbackHandle, FeedbackLayer, Gate, GateLayer, HoldHead};
use tidegate::{Outcome, RefusedReason, Units};
use tokio::runtime::{self, Handle};
use tokio::time::sleep;
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::recording::Recording;
use crate::support::assert_free;

type Classifier = fn(Answer<'_, ()>) -> Outcome;
type Inner = BoxCloneSyncService<Duration, (), std::io::Error>;
type Stack = Gate<Feedback<Inner, Classifier, Recording<Aimd>, HoldHead>, HoldHead>;

fn judge(answer: Answer<'_, ()>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}

/// One at a time, each as long as it says.
fn stack() -> (Stack, FeedbackHandle<Recording<Aimd>>) {
    let gate = GateLayer::new(1).hold_head();
    let law = Recording::new(Aimd::new().max(1));
    let feedback = FeedbackLayer::new(judge as Classifier, law, gate.handle()).hold_head();
    let handle = feedback.handle();
    let inner = service_fn(async |time| {
        sleep(time).await;
        Ok(())
    });
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service(BoxCloneSyncService::new(inner));
    (stack, handle)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_parked_while_it_waits_is_no_sample_and_stops_nobody() {
    let (stack, handle) = stack();
    let heard = || handle.law(|law| law.heard());
    let mut inside = Box::pin(stack.clone().oneshot(1.s()));
    let mut parked = Box::pin(stack.clone().oneshot(1.s()));
    assert!(poll!(&mut inside).is_pending() && poll!(&mut parked).is_pending());
    assert_eq!(heard().starts, 1);

    let others = join_all((0..3).map(|_| stack.clone().oneshot(1.s())));
    let (first, others) = tokio::join!(inside, others);
    assert!(first.is_ok() && others.iter().all(Result::is_ok));
    assert_eq!((heard().starts, heard().samples.len()), (4, 4));

    drop(parked);
    assert_eq!(heard().samples.len(), 4);
    assert_free(&handle, 1);
}

#[tokio::test(start_paused = true)]
async fn a_close_ends_those_who_wait_and_the_law_hears_of_those_inside_alone() {
    let (stack, handle) = stack();
    let calls: Vec<_> = (0..100)
        .map(|_| tokio::spawn(stack.clone().oneshot(5.s())))
        .collect();
    sleep(1.s()).await;
    handle.close();
    let mut refused = 0;
    for call in calls {
        if let Err(error) = call.await.unwrap() {
            assert_eq!(error.refused().unwrap().reason, RefusedReason::Closed);
            refused += 1;
        }
    }
    assert_eq!(refused, 99);
    let heard = handle.law(|law| law.heard());
    assert_eq!((heard.starts, heard.samples.len()), (1, 1));
    assert_eq!(heard.samples[0].latency, Some(5.s()));
    drop(stack);
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}

#[test]
fn a_runtime_that_ends_gives_every_place_back_and_what_was_inside_is_one_sample() {
    let (stack, handle) = stack();
    let start = || {
        runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    };
    let first = start();
    for _ in 0..100 {
        first.spawn(stack.clone().oneshot(3_600.s()));
    }
    first.block_on(async {
        while handle.waiting() < 99 {
            sleep(1.ms()).await;
        }
    });
    first.shutdown_timeout(10.s());
    let heard = handle.law(|law| law.heard());
    assert_eq!(heard.starts as usize, heard.samples.len());
    assert_free(&handle, 1);

    start().block_on(stack.oneshot(1.ms())).unwrap();
    assert_free(&handle, 1);
}
