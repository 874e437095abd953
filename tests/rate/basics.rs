//! Clones, refusals, changes while others wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tidegate::{RateLayer, RefusedReason, Start, Units, per_second};
use tokio::time::{sleep, timeout};
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{Sends, now};

#[tokio::test(start_paused = true)]
async fn all_clones_and_all_services_of_one_layer_share_one_bucket() {
    let rate = RateLayer::per_second(5.0);
    let sends = Sends::new();
    let one = rate.layer(sends.service());
    let two = BoxCloneService::new(rate.clone().layer(sends.service()));
    let calls = (0..1_500).map(|call| {
        let (one, two) = (one.clone(), two.clone());
        tokio::spawn(async move {
            match call % 2 {
                0 => one.oneshot(1).await.unwrap(),
                _ => two.oneshot(1).await.unwrap(),
            }
        })
    });
    let calls = join_all(calls);
    assert!(timeout(60.s(), calls).await.is_err());
    assert_eq!(sends.most_in(1.s()), 5);
    assert_eq!(sends.all().len(), 300);
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_is_cut_times_everyone_anew() {
    let rate = RateLayer::per_second(10.0);
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = join_all((0..5).map(|_| service.clone().oneshot(1)));
    let cut = async {
        sleep(200.ms()).await;
        tokio::task::yield_now().await;
        assert_eq!(sends.all().len(), 3);
        handle.set_pace(Some(per_second(1.0)));
    };
    let _ = tokio::join!(calls, cut);
    assert_eq!(sends.millis(), [0, 100, 200, 1200, 2200]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_is_raised_times_everyone_anew() {
    let rate = RateLayer::per_hour(1.0);
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = join_all((0..5).map(|_| service.clone().oneshot(1)));
    let raise = async {
        sleep(1.s()).await;
        handle.set_pace(Some(per_second(10.0).burst(3)));
    };
    let _ = tokio::join!(calls, raise);
    assert_eq!(sends.millis(), [0, 1100, 1200, 1300, 1400]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_served_soon_is_refused_at_once_with_a_time_to_come_again() {
    let rate = RateLayer::per_second(10.0).burst(3).max_queue(5);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let service = service.clone();
            async move { (service.oneshot(1).await, now()) }
        })
        .collect();
    let started = now();
    let answers = join_all(calls).await;
    assert_eq!(sends.millis(), [0, 0, 0, 100, 200, 300, 400, 500]);
    for (answer, at) in &answers[8..] {
        let refused = answer.as_ref().unwrap_err().refused().unwrap();
        assert_eq!(*at, started);
        assert_eq!(refused.by, "rate");
        assert_eq!(refused.reason, RefusedReason::QueueFull { max_queue: 5 });
        assert_eq!(refused.retry_after, Some(600.ms()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_longest_wait_refuses_at_once_who_would_wait_longer() {
    let rate = RateLayer::per_second(10.0).max_wait(250.ms());
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let answers = join_all((0..5).map(|_| service.clone().oneshot(1))).await;
    assert_eq!(sends.millis(), [0, 100, 200]);
    let refused = answers[4].as_ref().unwrap_err().refused().unwrap();
    let max_wait = 250.ms();
    assert_eq!(refused.reason, RefusedReason::WaitTooLong { max_wait });
    assert_eq!(refused.retry_after, Some(300.ms()));
    assert_eq!(rate.handle().max_wait(), Some(250.ms()));
}

#[tokio::test(start_paused = true)]
async fn fifty_behind_five_a_second_are_served_one_for_each_token_or_refused_after_three_seconds() {
    let rate = RateLayer::per_second(5.0).burst(5);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = (0..50).map(|_| {
        let service = service.clone();
        async move { timeout(3.s(), service.oneshot(1)).await }
    });
    let answers = join_all(calls).await;
    // Five at once, and 15 in three seconds.
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 20);
    assert_eq!(sends.most_in(1.s()), 9);
    // Those that gave up left no trace.
    assert_eq!(rate.handle().waiting(), 0);
    sleep(1.s()).await;
    let late = join_all((0..6).map(|_| service.clone().oneshot(1)));
    late.await;
    assert_eq!(sends.millis()[20..], [4000, 4000, 4000, 4000, 4000, 4200]);
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_gives_up_leaves_the_bucket_as_if_it_had_never_come() {
    let rate = RateLayer::per_second(5.0).burst(5);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = (0..2_000).map(|_| timeout(50.ms(), service.clone().oneshot(1)));
    assert_eq!(join_all(calls).await.iter().flatten().count(), 5);
    sleep(950.ms()).await;
    join_all((0..6).map(|_| service.clone().oneshot(1))).await;
    assert_eq!(sends.millis()[5..], [1000, 1000, 1000, 1000, 1000, 1200]);
}

#[tokio::test(start_paused = true)]
async fn one_who_gives_up_at_the_head_in_the_middle_or_at_the_tail_moves_the_others_up() {
    for gone in [1, 2, 4] {
        let rate = RateLayer::per_second(10.0);
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let calls = (0..5).map(|call| {
            let service = service.clone();
            async move {
                let wait = if call == gone { 50.ms() } else { 10.s() };
                timeout(wait, service.oneshot(call)).await.is_ok()
            }
        });
        join_all(calls).await;
        assert_eq!(sends.millis(), [0, 100, 200, 300], "without {gone}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_level_is_full_one_or_none() {
    for (start, times) in [
        (Start::Full, [0, 0, 0, 100, 200]),
        (Start::One, [0, 100, 200, 300, 400]),
        (Start::Empty, [100, 200, 300, 400, 500]),
    ] {
        let rate = RateLayer::per_second(10.0).burst(3).start(start);
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        join_all((0..5).map(|_| service.clone().oneshot(1))).await;
        assert_eq!(sends.millis(), times);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_ten_tokens_is_served_in_its_turn() {
    let rate = RateLayer::per_second(10.0)
        .burst(10)
        .start(Start::Empty)
        .cost(|cost: &u32| *cost);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = (0..60).map(|call| {
        let service = service.clone();
        async move {
            sleep(Duration::from_millis(50 * call)).await;
            service.oneshot(if call == 20 { 10 } else { 1 }).await
        }
    });
    join_all(calls).await;
    let all = sends.all();
    // 20 are ahead of it: 2 s for those, one more for it, and nobody passes it.
    assert_eq!(all[20], (3.s(), 10));
    assert_eq!(all[21], (3_100.ms(), 1));
    assert!(sends.most_in(1.s()) <= 20);
}

#[tokio::test(start_paused = true)]
async fn a_cost_above_the_burst_goes_when_the_bucket_is_full_and_holds_up_those_behind_it() {
    let rate = RateLayer::per_second(100.0)
        .burst(300)
        .cost(|cost: &u32| *cost);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    join_all([301, 1, 0].map(|cost| service.clone().oneshot(cost))).await;
    // One token is owed, and then one is wanted.
    assert_eq!(sends.millis(), [0, 20, 20]);
}

#[tokio::test(start_paused = true)]
async fn one_who_was_not_ready_gives_back_what_it_took() {
    #[derive(Clone)]
    struct Broken(Arc<AtomicUsize>);
    impl Service<u32> for Broken {
        type Response = ();
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<()>>;
        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            let turn = self.0.fetch_add(1, SeqCst);
            std::task::Poll::Ready(match turn {
                0 => Err(io::Error::other("not ready")),
                _ => Ok(()),
            })
        }
        fn call(&mut self, _: u32) -> Self::Future {
            std::future::ready(Ok(()))
        }
    }
    let rate = RateLayer::per_hour(1.0);
    let service = rate.layer(Broken(Arc::default()));
    let answer = service.clone().oneshot(1).await;
    assert_eq!(answer.unwrap_err().to_string(), "not ready");
    service.oneshot(1).now_or_never().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_future_that_nobody_polls_holds_nothing() {
    let rate = RateLayer::per_hour(1.0);
    let sends = Sends::new();
    let mut service = rate.layer(sends.service());
    let kept = service.ready().await.unwrap().call(1);
    service.oneshot(1).now_or_never().unwrap().unwrap();
    drop(kept);
}

#[tokio::test(start_paused = true)]
async fn a_pause_holds_everybody_and_a_closed_rate_refuses() {
    let rate = RateLayer::per_second(10.0).burst(2);
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    handle.pause_until((now() + 1.s()).into_std());
    join_all((0..3).map(|_| service.clone().oneshot(1))).await;
    assert_eq!(sends.millis(), [1000, 1000, 1100]);
    assert_eq!((handle.in_flight(), handle.limit()), (0, usize::MAX));
    handle.set_limit(1);
    assert_eq!(handle.limit(), usize::MAX);
    assert_eq!(handle.drain(1.s()).await, 0);
    let error = service.oneshot(1).await.unwrap_err();
    assert_eq!(error.refused().unwrap().reason, RefusedReason::Closed);
}

#[tokio::test(start_paused = true)]
async fn by_hand_in_tasks_it_is_the_same_queue() {
    let rate = RateLayer::per_second(10.0).burst(2).handle();
    let started = now();
    rate.acquire(2).await.unwrap();
    assert_eq!(rate.try_acquire(1).unwrap_err().retry_after, Some(100.ms()));
    rate.acquire(1).await.unwrap();
    assert_eq!(now() - started, 100.ms());
    let works = service_fn(async |()| Ok::<_, io::Error>(()));
    RateLayer::per_second(1.0)
        .layer(works)
        .oneshot(())
        .await
        .unwrap();
}
