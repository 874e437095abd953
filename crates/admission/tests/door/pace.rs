//! How many enter per second.

use std::time::Duration;

use tidegate_admission::Door;
use tidegate_core::{Pace, Start, Steer as _, per, per_hour, per_second, strict};

use crate::support::{Log, Polls, assert_free, ms, now};

/// When each of the callers entered, in nanoseconds, and how many each of them entered.
async fn saturate(pace: Pace, callers: usize, time: Duration) -> (Vec<u64>, Vec<usize>) {
    let door = Door::new("rate", Door::MAX_LIMIT);
    door.set_pace(Some(pace));
    let origin = now();
    let sends = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (door, sends) = (door.clone(), sends.clone());
            tokio::spawn(async move {
                let mut mine = 0;
                while let Ok(permit) = door.acquire(1).await {
                    let at = u64::try_from((now() - origin).as_nanos()).unwrap();
                    sends.lock().unwrap().push(at);
                    mine += 1;
                    drop(permit);
                }
                mine
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    door.close();
    let mut served = Vec::new();
    for caller in callers {
        served.push(caller.await.unwrap());
    }
    let sends = std::mem::take(&mut *sends.lock().unwrap());
    (sends, served)
}

/// The most that a window of any length, between any two sends, holds more than `rate · window`.
fn most_above_the_rate(sends: &[u64], pace: &Pace) -> f64 {
    let mut lowest = f64::INFINITY;
    let mut most: f64 = 0.0;
    for (count, &at) in sends.iter().enumerate() {
        let above = count as f64 - at as f64 / pace.period_nanos();
        lowest = lowest.min(above);
        most = most.max(above - lowest + 1.0);
    }
    most
}

async fn assert_promise(pace: Pace, time: Duration, late: Duration) {
    let (sends, served) = saturate(pace, 64, time).await;
    let most = most_above_the_rate(&sends, &pace);
    let burst = f64::from(pace.bucket());
    let slack = pace.rate() * late.as_secs_f64() + 1e-6;
    assert!(
        most <= burst + slack,
        "{pace:?}: {most} above the rate in a window"
    );
    let ideal = burst + pace.rate() * time.as_secs_f64();
    let used = sends.len() as f64 / ideal;
    assert!((0.99..=1.001).contains(&used), "{pace:?}: {used} used");
    let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
    assert!(
        most - least <= 1 + pace.bucket() as usize,
        "{least}..{most}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_window_holds_more_than_the_burst_and_the_rate_and_the_rate_is_used() {
    let ten_minutes = Duration::from_secs(600);
    for pace in [
        per_second(50.0),
        per_second(7.0).burst(3),
        per_second(100.0).burst(20),
        per_second(333.3).burst(2),
        per_second(0.5).burst(10),
        per_second(20.0).burst(5).start(Start::Empty),
    ] {
        assert_promise(pace, ten_minutes, Duration::ZERO).await;
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_burst_of_one_a_late_timer_counts_as_on_time() {
    // A period of 3⅓ ms on a timer that ticks at 1 ms: the second of two may come less than a
    // period after the first, which came late.
    let late = ms(1);
    assert_promise(per_second(300.0), Duration::from_secs(600), late).await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_a_second_are_used_in_full_with_a_burst_of_eleven() {
    // The timer ticks at 1 ms, in which ten tokens come. They are taken at once, and none is lost if
    // the bucket holds one more than that.
    let pace = per_second(10_000.0).burst(11);
    assert_promise(pace, Duration::from_secs(600), Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_who_wait_are_polled_three_times_each_at_most() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(100.0)));
    let log = Log::new();
    let waits: Vec<_> = (0..10_000)
        .map(|_| {
            let acquire = Polls::of(door.acquire(1));
            tokio::spawn(async move { acquire.await.1 })
        })
        .collect();
    let mut polls = 0;
    for one in waits {
        let count = one.await.unwrap();
        assert!(count <= 3, "{count} polls");
        polls += count;
    }
    assert_eq!(log.at(), 99_990);
    assert!(polls <= 20_001, "{polls} polls in all");
    assert_free(&door, 10);
}

/// How many tokens there are.
fn tokens(door: &Door) -> usize {
    let taken: Vec<_> = (0..100).map_while(|_| door.try_acquire(1).ok()).collect();
    let tokens = taken.len();
    for permit in taken {
        permit.give_back();
    }
    tokens
}

#[tokio::test(start_paused = true)]
async fn two_thousand_who_give_up_after_50_ms_leave_the_bucket_as_if_they_had_never_come() {
    let pace = per_second(5.0).burst(5);
    let [with, without] = [(); 2].map(|()| {
        let door = Door::new("rate", 5_000);
        door.set_pace(Some(pace));
        door
    });
    let flood: Vec<_> = (0..2_000)
        .map(|_| {
            let door = with.clone();
            tokio::spawn(async move { tokio::time::timeout(ms(50), door.acquire(1)).await })
        })
        .collect();
    let five: Vec<_> = (0..5).map(|_| without.try_acquire(1).unwrap()).collect();
    let mut entered = Vec::new();
    for one in flood {
        entered.extend(one.await.unwrap().ok());
    }
    assert_eq!(entered.len(), 5);
    assert_eq!(with.waiting(), 0);
    drop((entered, five));
    for _ in 0..120 {
        assert_eq!(tokens(&with), tokens(&without));
        tokio::time::sleep(ms(10)).await;
    }
    assert_eq!(tokens(&with), 5);
}

#[tokio::test(start_paused = true)]
async fn two_thousand_refused_for_a_wait_above_50_ms_leave_no_trace() {
    let door = Door::new("rate", 5_000);
    door.set_pace(Some(per_second(5.0).burst(5)));
    door.set_max_wait(Some(ms(50)));
    let log = Log::new();
    let mut entered = 0;
    for _ in 0..2_000 {
        entered += usize::from(door.acquire(1).await.is_ok());
    }
    assert_eq!((entered, log.at(), door.waiting()), (5, 0, 0));
    tokio::time::sleep(ms(199)).await;
    assert_eq!(tokens(&door), 0);
    tokio::time::sleep(ms(1)).await;
    assert_eq!(tokens(&door), 1);
    tokio::time::sleep(ms(800)).await;
    assert_eq!(tokens(&door), 5);
}

#[tokio::test(start_paused = true)]
async fn a_pace_cut_from_10_to_1_a_second_times_anew_those_who_wait() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(10.0)));
    let log = Log::new();
    let sends: Vec<_> = (0..5)
        .map(|_| {
            let (door, log) = (door.clone(), log.clone());
            tokio::spawn(async move {
                let _permit = door.acquire(1).await.unwrap();
                log.note();
                if log.times().len() == 3 {
                    door.set_pace(Some(per_second(1.0)));
                }
            })
        })
        .collect();
    for one in sends {
        one.await.unwrap();
    }
    assert_eq!(log.times(), [0, 100, 200, 1_200, 2_200]);
}

#[tokio::test(start_paused = true)]
async fn a_pace_raised_from_one_an_hour_lets_in_those_who_wait_within_a_period() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_hour(1.0)));
    let log = Log::new();
    let sends: Vec<_> = (0..4)
        .map(|_| {
            let (door, log) = (door.clone(), log.clone());
            tokio::spawn(async move {
                let _permit = door.acquire(1).await.unwrap();
                log.note();
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(60)).await;
    door.set_pace(Some(per_second(10.0)));
    for one in sends {
        one.await.unwrap();
    }
    // A sixtieth of a token was there.
    assert_eq!(log.times(), [0, 60_099, 60_199, 60_299]);
}

#[tokio::test(start_paused = true)]
async fn a_pace_that_is_lifted_lets_in_all_who_wait() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_hour(1.0)));
    let waits: Vec<_> = (0..5)
        .map(|_| {
            let door = door.clone();
            tokio::spawn(async move { door.acquire(1).await.unwrap().tokens() })
        })
        .collect();
    tokio::time::sleep(ms(10)).await;
    assert_eq!((door.in_flight(), door.waiting()), (0, 4));
    door.set_pace(None);
    let log = Log::new();
    let mut tokens = Vec::new();
    for one in waits {
        tokens.push(one.await.unwrap());
    }
    assert_eq!((tokens, log.at()), (vec![1, 0, 0, 0, 0], 0));
    assert_free(&door, 10);
}

async fn send_times(pace: Pace, sends: usize) -> Vec<u64> {
    let door = Door::new("rate", 10);
    door.set_pace(Some(pace));
    let log = Log::new();
    for _ in 0..sends {
        drop(door.acquire(1).await.unwrap());
        log.note();
    }
    log.times()
}

#[tokio::test(start_paused = true)]
async fn the_slowest_paces_do_not_drift() {
    let expected = |period: u64, sends: u64| (0..sends).map(|send| send * period).collect();
    let hour: Vec<u64> = expected(3_600_000, 1_000);
    assert_eq!(send_times(per_hour(1.0), 1_000).await, hour);
    let month = Duration::from_secs(30 * 86_400);
    let months: Vec<u64> = expected(30 * 86_400_000, 24);
    assert_eq!(send_times(per(1.0, month), 24).await, months);
    let fives: Vec<u64> = expected(400, 1_000);
    assert_eq!(
        send_times(per(5.0, Duration::from_secs(2)), 1_000).await,
        fives
    );
    // A period is a whole number of nanoseconds, rounded up.
    let sevens: Vec<u64> = (0..1_000)
        .map(|send| (send * 142_857_143_u64).div_ceil(1_000_000))
        .collect();
    assert_eq!(send_times(per_second(7.0), 1_000).await, sevens);
}

#[tokio::test(start_paused = true)]
async fn an_idle_hour_fills_a_bucket_and_no_more() {
    let door = Door::new("rate", 100);
    door.set_pace(Some(per_second(1.0).burst(10)));
    for idle in [3_600, 10 * 365 * 86_400] {
        tokio::time::sleep(Duration::from_secs(idle)).await;
        let log = Log::new();
        for _ in 0..13 {
            drop(door.acquire(1).await.unwrap());
            log.note();
        }
        let mut expected = vec![0; 10];
        expected.extend([1_000, 2_000, 3_000]);
        assert_eq!(log.times(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_is_there_at_once_and_goes_to_the_next() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(10.0).burst(3)));
    let unsent = door.acquire(3).await.unwrap();
    assert_eq!((tokens(&door), unsent.tokens()), (0, 3));
    let log = Log::new();
    let next = tokio::spawn({
        let door = door.clone();
        async move { door.acquire(2).await.map(|permit| permit.tokens()) }
    });
    tokio::time::sleep(ms(50)).await;
    assert_eq!(door.waiting(), 1);
    unsent.give_back();
    assert_eq!(next.await.unwrap(), Ok(2));
    assert_eq!((log.at(), tokens(&door)), (50, 1));
    // As if only two had been taken, at 50 ms, of a full bucket.
    tokio::time::sleep(ms(99)).await;
    assert_eq!(tokens(&door), 1);
    tokio::time::sleep(ms(1)).await;
    assert_eq!(tokens(&door), 2);
    assert_free(&door, 10);
}

#[tokio::test(start_paused = true)]
async fn one_who_gives_up_at_the_moment_of_its_grant_gives_back_its_tokens() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(10.0)));
    door.try_acquire(1).unwrap().give_back();
    let first = door.try_acquire(1).unwrap();
    let mut waits = door.acquire(1);
    assert!(crate::support::poll_once(&mut waits).is_pending());
    tokio::time::sleep(ms(100)).await;
    assert_eq!((door.in_flight(), door.waiting()), (2, 0));
    drop(waits);
    assert_eq!((door.in_flight(), tokens(&door)), (1, 1));
    drop(first);
    assert_free(&door, 10);
}

#[test]
fn a_snapshot_has_all_paces_with_their_numbers() {
    let door = Door::without_limit("rate");
    door.set_pace(Some(per_second(5.0)));
    assert_eq!(
        door.snapshot().paces().collect::<Vec<_>>(),
        [(0, per_second(5.0))]
    );
    for (number, rate) in [(1, 7.0), (2, 9.0)] {
        assert_eq!(door.add_pace(per_second(rate)), number);
    }
    door.set_pace_of(1, None);
    let paces = [(0, per_second(5.0)), (2, per_second(9.0))];
    assert_eq!(door.snapshot().paces().collect::<Vec<_>>(), paces);
    door.set_pace_of(1, Some(strict(3, ms(100))));
    door.set_pace(None);
    let paces = [(1, strict(3, ms(100))), (2, per_second(9.0))];
    let snapshot = door.snapshot();
    assert_eq!(
        (snapshot.pace, snapshot.paces().collect::<Vec<_>>()),
        (None, paces.into())
    );
}
