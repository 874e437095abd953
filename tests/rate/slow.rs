//! Rates that are closed, reopened, refused or very slow, and loads above them that go on.

use std::panic::catch_unwind;
use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidegate::{Pace, RateLayer, Units, per, per_hour, per_minute, per_second, strict};
use tokio::time::sleep;
use tower::{Layer, ServiceExt};

use crate::{Sends, now};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_rate_of_zero_below_zero_or_no_number_is_none_and_says_so() {
    let makers: [fn(f64) -> RateLayer; 4] = [
        RateLayer::per_second,
        RateLayer::per_minute,
        RateLayer::per_hour,
        |count| RateLayer::per(count, 2.s()),
    ];
    for make in makers {
        for count in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            let panic = catch_unwind(|| make(count)).unwrap_err();
            let said = panic.downcast_ref::<String>().unwrap();
            assert!(said.contains(&format!("not {count} in")), "{said}");
        }
    }
    assert!(catch_unwind(|| RateLayer::per(1.0, Duration::ZERO)).is_err());
    assert!(catch_unwind(|| RateLayer::strict(0, MINUTE)).is_err());
    assert!(catch_unwind(|| RateLayer::strict(1, Duration::ZERO)).is_err());
    assert!(catch_unwind(|| RateLayer::per_second(1.0).burst(0)).is_err());
}

#[tokio::test(start_paused = true)]
async fn each_of_these_rates_sends_when_its_name_says() {
    let table: [(Pace, [u64; 4]); 6] = [
        (per_second(2.0), [0, 500, 1_000, 1_500]),
        (per(5.0, 2.s()), [0, 400, 800, 1_200]),
        (per_minute(1.0).burst(2), [0, 0, 60_000, 120_000]),
        (per_hour(1.0), [0, 3_600_000, 7_200_000, 10_800_000]),
        (
            per(1.0, 30 * DAY),
            [0, 2_592_000_000, 5_184_000_000, 7_776_000_000],
        ),
        (strict(2, 30 * DAY), [0, 0, 2_592_000_000, 2_592_000_000]),
    ];
    for (pace, due) in table {
        let sends = Sends::new();
        let service = RateLayer::new(pace).layer(sends.service());
        join_all((0..4).map(|_| service.clone().oneshot(1))).await;
        assert_eq!(sends.millis(), due.map(u128::from), "{pace:?}");
    }
}

/// What a rate of 0 would be: nobody goes.
#[tokio::test(start_paused = true)]
async fn three_that_wait_while_nobody_may_go_go_on_at_the_rate_when_that_is_over() {
    let rate = RateLayer::per_second(10.0);
    let handle = rate.handle();
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let calls = join_all((0..6).map(|_| service.clone().oneshot(1)));
    let stops = async {
        sleep(250.ms()).await;
        // From ten a second to nothing, with three that wait, and an hour to go.
        assert_eq!((sends.count(), handle.waiting()), (3, 3));
        handle.pause_until((now() + 60 * MINUTE).into_std());
        sleep(MINUTE).await;
        assert_eq!((sends.count(), handle.waiting()), (3, 3));
        handle.end_pause();
    };
    let _ = tokio::join!(calls, stops);
    // One had gained its token meanwhile, and a bucket of one holds no more.
    assert_eq!(sends.millis(), [0, 100, 200, 60_250, 60_350, 60_450]);
}

#[tokio::test(start_paused = true)]
async fn the_slowest_of_rates_raised_lets_go_within_a_period_of_the_new_one() {
    for before in [per(1.0, 30 * DAY), strict(1, 30 * DAY)] {
        let rate = RateLayer::new(before);
        let handle = rate.handle();
        let sends = Sends::new();
        let service = rate.layer(sends.service());
        let calls = join_all((0..4).map(|_| service.clone().oneshot(1)));
        let raise = async {
            sleep(MINUTE).await;
            assert_eq!(handle.waiting(), 3);
            handle.set_pace(Some(per_second(10.0)));
        };
        let _ = tokio::join!(calls, raise);
        let millis = sends.millis();
        assert!((60_000..=60_100).contains(&millis[1]), "{millis:?}");
        let then = [1, 2].map(|call| millis[call + 1] - millis[call]);
        assert_eq!(then, [100, 100]);
    }
}

/// Seven thousand a minute are offered for ten minutes, after an idle hour.
async fn offered_too_many(pace: Pace) -> Sends {
    let rate = RateLayer::new(pace).max_wait(0.s());
    sleep(60 * MINUTE).await;
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let origin = now();
    for call in 0..70_000_u32 {
        let due = origin + MINUTE * call / 7_000;
        tokio::time::sleep_until(due).await;
        let _refused = service.clone().oneshot(1).await;
    }
    sends
}

#[tokio::test(start_paused = true)]
async fn a_bucket_of_a_minute_is_exceeded_for_minutes_after_an_idle_hour_and_a_strict_one_never() {
    let bucket = offered_too_many(per_minute(6_000.0).burst(6_000)).await;
    // Everything that is offered, for the six minutes in which the burst lasts.
    let in_minute = |sends: &Sends, minute: u32| {
        let minute = MINUTE * minute..MINUTE * (minute + 1);
        let all = sends.all();
        all.iter().filter(|(at, _)| minute.contains(at)).count()
    };
    let counts: Vec<_> = (0..10).map(|minute| in_minute(&bucket, minute)).collect();
    assert!(
        counts[..5]
            .iter()
            .all(|count| (6_999..=7_001).contains(count)),
        "{counts:?}"
    );
    assert!(
        counts[6..]
            .iter()
            .all(|count| (5_999..=6_001).contains(count)),
        "{counts:?}"
    );
    assert!(bucket.most_in(MINUTE) > 6_000);

    let strictly = offered_too_many(strict(6_000, MINUTE)).await;
    assert!(strictly.most_in(MINUTE) <= 6_000);
    let small = offered_too_many(per_minute(6_000.0).burst(1)).await;
    assert!(small.most_in(MINUTE) <= 6_001);
}

/// How long a bucket of ten that gains one a second has to wait for one token more, by counting.
#[derive(Debug)]
struct Counted {
    /// Of a token, in milliseconds of its gaining.
    millis: u64,
}

impl Counted {
    const FULL: u64 = 10_000;

    fn pass(&mut self, millis: u64) {
        self.millis = self.millis.saturating_add(millis).min(Self::FULL);
    }

    /// Until there is a token, which is taken.
    fn take(&mut self) -> u64 {
        let wait = 1_000_u64.saturating_sub(self.millis);
        self.pass(wait);
        self.millis -= 1_000;
        wait
    }
}

#[tokio::test(start_paused = true)]
async fn after_idle_times_of_any_length_there_are_ten_at_most_and_then_one_a_second() {
    let mut random = SmallRng::seed_from_u64(2);
    let rate = RateLayer::per_second(1.0).burst(10);
    let sends = Sends::new();
    let service = rate.layer(sends.service());
    let (mut counted, mut at) = (
        Counted {
            millis: Counted::FULL,
        },
        0,
    );
    let mut due = Vec::new();
    for _ in 0..300 {
        // From a millisecond to a month.
        let idle = 10_f64.powf(random.random_range(0.0..9.4)) as u64;
        sleep(Duration::from_millis(idle)).await;
        counted.pass(idle);
        at += idle;
        for _ in 0..random.random_range(1..25) {
            at += counted.take();
            due.push(u128::from(at));
            service.clone().oneshot(1).await.unwrap();
        }
    }
    assert_eq!(sends.millis(), due);
    assert!(sends.most_in(1.s()) <= 10 + 1);
}
