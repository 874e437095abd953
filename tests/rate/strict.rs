//! The promise of each mode over every window, and the slowest and fastest rates.

use std::time::Duration;

use futures_util::future::join_all;
use tidegate::{Pace, RateLayer, Start, Units, per, per_hour, per_minute, per_second, strict};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};

use crate::Sends;

/// Twenty callers that never stop, from cold and after an hour idle, each for ten minutes; all in
/// tokens of `cost`.
async fn saturated(pace: Pace, cost: u32) -> [Sends; 2] {
    let rate = RateLayer::new(pace).cost(|cost: &u32| *cost);
    let mut runs = Vec::new();
    for _ in 0..2 {
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let callers = (0..20).map(|_| {
            let service = service.clone();
            async move {
                loop {
                    service.clone().oneshot(cost).await.unwrap();
                }
            }
        });
        let ten_minutes = Duration::from_secs(600);
        assert!(timeout(ten_minutes, join_all::<_>(callers)).await.is_err());
        runs.push(sends);
        sleep(Duration::from_secs(3600)).await;
    }
    runs.try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn strictly_no_window_holds_more_than_the_count_and_nearly_all_of_it_is_used() {
    let minute = Duration::from_secs(60);
    for (count, window, cost) in [
        (10, 1.s(), 1),
        (100, 1.s(), 1),
        (100, 1.s(), 7),
        (1_200, minute, 10),
        (6_000, minute, 1),
        (7, 333.ms(), 1),
        (100_000, minute, 37),
    ] {
        for sends in saturated(strict(count, window), cost).await {
            let most = sends.most_in(window);
            assert!(most <= u64::from(count), "{most} of {count} in {window:?}");
            let sent: u64 = sends.all().iter().map(|&(_, cost)| u64::from(cost)).sum();
            // In whole requests.
            let whole = f64::from(count / cost * cost);
            let allowed = whole * 600.0 / window.as_secs_f64();
            let used = sent as f64 / allowed;
            assert!(used >= 0.95, "{used} of {count} in {window:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_bucket_no_window_holds_more_than_the_burst_and_the_rate_and_nearly_all_is_used() {
    let minute = Duration::from_secs(60);
    for (pace, window, cost) in [
        (per_minute(1_200.0).burst(1_200), minute, 10),
        (per_minute(6_000.0).burst(1), minute, 1),
        (per_second(50.0).burst(10), 1.s(), 1),
        (per_second(50.0).burst(10).start(Start::Empty), 1.s(), 1),
        (per(5.0, 2.s()), 2.s(), 1),
    ] {
        for sends in saturated(pace, cost).await {
            let in_window = pace.rate() * window.as_secs_f64();
            let most = sends.most_in(window) as f64;
            assert!(
                most <= in_window + f64::from(pace.bucket()),
                "{most} {pace:?}"
            );
            let sent: u64 = sends.all().iter().map(|&(_, cost)| u64::from(cost)).sum();
            let used = sent as f64 / (pace.rate() * 600.0);
            assert!(used >= 0.99, "{used} {pace:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn across_the_edge_of_a_minute_a_bucket_of_a_minute_lets_out_twice_and_a_strict_one_once() {
    let minute = Duration::from_secs(60);
    for (pace, most) in [
        (per_minute(100.0).burst(100), 199),
        (strict(100, minute), 100),
    ] {
        let rate = RateLayer::new(pace);
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let calls = (0..400).map(|_| service.clone().oneshot(1));
        let _ = timeout(2 * minute, join_all(calls)).await;
        assert_eq!(sends.most_in(minute), most);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_rate_does_not_drift_in_a_thousand_periods() {
    let hour = Duration::from_secs(3_600);
    let month = Duration::from_secs(30 * 86_400);
    for (pace, period, periods) in [
        (per_second(0.5), 2.s(), 1_000),
        (per_hour(1.0), hour, 1_000),
        // A door's clock runs for 36 years.
        (per(1.0, month), month, 400),
        (strict(1, month), month, 400),
        (strict(1, 2.s()), 2.s(), 1_000),
    ] {
        let rate = RateLayer::new(pace);
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        for _ in 0..=periods {
            service.clone().oneshot(1).await.unwrap();
        }
        for (number, (at, _)) in sends.all().into_iter().enumerate() {
            let due = period * u32::try_from(number).unwrap();
            assert!(
                (due..=due + 1.ms()).contains(&at),
                "{number}: {at:?} {pace:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ten_idle_years_overflow_nothing() {
    let years = Duration::from_secs(10 * 365 * 86_400);
    for pace in [per_second(1.0).burst(10), strict(10, 10.s())] {
        let rate = RateLayer::new(pace);
        for _ in 0..2 {
            let sends = Sends::new();
            let service = rate.layer(sends.service());
            join_all((0..11).map(|_| service.clone().oneshot(1))).await;
            let last = if pace.window().is_some() {
                10_000
            } else {
                1_000
            };
            assert_eq!(sends.millis()[..10], [0; 10]);
            assert_eq!(sends.millis()[10], last);
            sleep(years).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_a_second_are_exact_over_a_hundred_milliseconds() {
    // The timer ticks at 1 ms: 100 tokens, and one more than that is what a burst must hold.
    let rate = RateLayer::per_second(100_000.0)
        .burst(101)
        .start(Start::Empty);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let callers = (0..200).map(|_| {
        let service = service.clone();
        async move {
            loop {
                service.clone().oneshot(1).await.unwrap();
            }
        }
    });
    assert!(timeout(10.s(), join_all::<_>(callers)).await.is_err());
    let window = 100.ms();
    let all = sends.all();
    for start in 0..100 {
        let from = window * start;
        let here = all
            .iter()
            .filter(|(at, _)| *at > from && *at <= from + window);
        let here = here.count();
        assert!((9_999..=10_001).contains(&here), "{here} from {from:?}");
    }
    assert!(sends.most_in(window) <= 10_101);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_that_wait_are_served_within_a_tenth_of_each_other() {
    for pace in [per(300.0, 60.s()), strict(300, 60.s())] {
        let rate = RateLayer::new(pace);
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let mine = (0..100_u32).map(|me| {
            let service = service.clone();
            async move {
                loop {
                    service.clone().oneshot(me).await.unwrap();
                    tokio::task::yield_now().await;
                }
            }
        });
        let twenty_minutes = Duration::from_secs(1_200);
        assert!(timeout(twenty_minutes, join_all::<_>(mine)).await.is_err());
        let mut served = [0_u32; 100];
        sends
            .all()
            .iter()
            .for_each(|&(_, me)| served[me as usize] += 1);
        let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
        assert!(
            f64::from(*most) <= 1.1 * f64::from(*least),
            "{least}..{most}"
        );
    }
}
