//! What a request costs: nothing, more than the bucket holds, and more than anybody will see.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tidegate::{Pace, RateLayer, RefusedReason, Units, per_second, strict};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt};

use crate::Sends;

/// A service whose requests cost what they are.
fn costing(pace: Pace, sends: &Sends) -> (impl Paced, tidegate::RateHandle) {
    let rate = RateLayer::new(pace).cost(|cost: &u32| *cost);
    (rate.layer(sends.service()), rate.handle())
}

trait Paced: Service<u32, Response = u32, Error = tidegate::Error, Future: Send> + Clone {}

impl<S> Paced for S where
    S: Service<u32, Response = u32, Error = tidegate::Error, Future: Send> + Clone
{
}

#[tokio::test(start_paused = true)]
async fn without_a_pace_any_cost_passes_at_once_and_leaves_no_debt() {
    let sends = Sends::new();
    let (service, rate) = costing(per_second(1.0).burst(300), &sends);
    rate.set_pace(None);
    for cost in [301, u32::MAX, 0, u32::MAX, 1] {
        let answer = service.clone().oneshot(cost).now_or_never();
        assert_eq!(answer.unwrap().unwrap(), cost);
    }
    // The bucket that comes then is full.
    rate.set_pace(Some(per_second(1.0).burst(300)));
    rate.try_acquire(300).unwrap();
    assert_eq!(rate.try_acquire(1).unwrap_err().retry_after, Some(1.s()));
}

#[tokio::test(start_paused = true)]
async fn after_an_hour_one_above_the_burst_goes_at_once_and_the_next_pays_its_debt() {
    let sends = Sends::new();
    let (service, _) = costing(per_second(100.0).burst(300), &sends);
    for _ in 0..2 {
        sleep(Duration::from_secs(3_600)).await;
        join_all([301, 1].map(|cost| service.clone().oneshot(cost))).await;
    }
    let hour = 3_600_000;
    let again = 2 * hour + 20;
    assert_eq!(sends.millis(), [hour, hour + 20, again, again + 20]);
}

#[tokio::test(start_paused = true)]
async fn one_above_the_burst_waits_until_the_bucket_is_full_and_no_longer() {
    let sends = Sends::new();
    let (service, _) = costing(per_second(100.0).burst(300), &sends);
    join_all([100, 301, 1].map(|cost| service.clone().oneshot(cost))).await;
    // Full after one second.
    assert_eq!(sends.millis(), [0, 1_000, 1_020]);
}

#[tokio::test(start_paused = true)]
async fn the_largest_cost_goes_at_once_and_those_behind_it_wait_as_long_as_it_costs() {
    let sends = Sends::new();
    let (service, _) = costing(per_second(100_000.0).burst(300), &sends);
    join_all([u32::MAX, 1, 0].map(|cost| service.clone().oneshot(cost))).await;
    let debt = u128::from(u32::MAX) - 300;
    let due = (debt + 1).div_ceil(100);
    assert_eq!(sends.millis(), [0, due, due]);
}

#[tokio::test(start_paused = true)]
async fn a_cost_of_nothing_passes_an_empty_bucket_and_takes_nothing() {
    let sends = Sends::new();
    let (service, rate) = costing(per_second(10.0).burst(3), &sends);
    for cost in [3, 0, 0, 0] {
        service.clone().oneshot(cost).await.unwrap();
    }
    assert_eq!(sends.millis(), [0; 4]);
    assert_eq!(rate.try_acquire(3).unwrap_err().retry_after, Some(300.ms()));
}

#[tokio::test(start_paused = true)]
async fn one_above_the_burst_that_is_refused_takes_nothing() {
    for pace in [per_second(100.0).burst(300), strict(300, 3.s())] {
        let sends = Sends::new();
        let (service, rate) = costing(pace, &sends);
        service.clone().oneshot(100).await.unwrap();
        rate.set_max_wait(Some(0.s()));
        for cost in [301, u32::MAX] {
            let error = service.clone().oneshot(cost).await.unwrap_err();
            let max_wait = 0.s();
            let reason = &error.refused().unwrap().reason;
            assert_eq!(*reason, RefusedReason::WaitTooLong { max_wait });
        }
        rate.set_max_wait(None);
        rate.set_max_queue(0);
        let error = service.clone().oneshot(301).await.unwrap_err();
        let reason = &error.refused().unwrap().reason;
        assert_eq!(*reason, RefusedReason::QueueFull { max_queue: 0 });
        assert_eq!(sends.all().len(), 1);
        // What was there is there.
        service.oneshot(200).await.unwrap();
        assert!(rate.try_acquire(1).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_strict_window_one_above_the_count_goes_when_it_is_empty_and_counts_for_two() {
    let sends = Sends::new();
    let (service, _) = costing(strict(300, 1.s()), &sends);
    join_all([1, 301, 1].map(|cost| service.clone().oneshot(cost))).await;
    assert_eq!(sends.millis(), [0, 1_000, 2_000]);
}

#[tokio::test(start_paused = true)]
async fn fifty_of_a_bucket_of_ten_go_after_any_idle_time_and_leave_forty_owed() {
    for idle in [0, 3_600, 10 * 365 * 86_400] {
        let sends = Sends::new();
        let (service, _) = costing(per_second(1.0).burst(10), &sends);
        sleep(Duration::from_secs(idle)).await;
        join_all([50, 1, 1].map(|cost| service.clone().oneshot(cost))).await;
        let due = [0, 41_000, 42_000].map(|due| u128::from(idle) * 1_000 + due);
        assert_eq!(sends.millis(), due);
    }
}
