//! First come, first served, whatever it costs.

use tidegate_admission::Door;
use tidegate_core::per_second;

use crate::support::{Log, assert_free, ms};

/// Sends requests of these costs, in order, and says when each entered.
async fn sends(door: &Door, costs: &[u32]) -> Vec<u64> {
    let log = Log::new();
    let all: Vec<_> = costs
        .iter()
        .map(|&cost| {
            let (door, log) = (door.clone(), log.clone());
            tokio::spawn(async move {
                let permit = door.acquire(cost).await.unwrap();
                assert_eq!(permit.tokens(), cost);
                log.at()
            })
        })
        .collect();
    let mut times = Vec::new();
    for one in all {
        times.push(one.await.unwrap());
    }
    times
}

fn paced(per_second_: f64, burst: u32) -> Door {
    let door = Door::new("rate", 1_000);
    door.set_pace(Some(per_second(per_second_).burst(burst)));
    door
}

#[tokio::test(start_paused = true)]
async fn a_large_one_is_not_overtaken_by_small_ones() {
    let door = paced(10.0, 10);
    let times = sends(&door, &[8, 10, 1, 1, 2]).await;
    assert_eq!(times, [0, 800, 900, 1_000, 1_200]);
}

#[tokio::test(start_paused = true)]
async fn a_cost_above_the_burst_waits_for_a_full_bucket_and_the_next_pays_the_debt() {
    let door = paced(10.0, 5);
    let times = sends(&door, &[1, 12, 1, 5]).await;
    // Full at 100; twelve of five leave a debt of seven, so one is there at 900.
    assert_eq!(times, [0, 100, 900, 1_400]);
}

#[tokio::test(start_paused = true)]
async fn a_cost_of_nothing_takes_a_place_and_keeps_its_turn() {
    let door = paced(10.0, 2);
    assert_eq!(
        sends(&door, &[2, 0, 0, 1, 0, 1]).await,
        [0, 0, 0, 100, 100, 200]
    );
    let door = Door::new("rate", 1);
    door.set_pace(Some(per_second(10.0)));
    let held = door.try_acquire(0).unwrap();
    assert!(door.try_acquire(0).is_err());
    drop(held);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn the_largest_cost_blocks_nobody_for_ever() {
    let door = paced(1e9, 1);
    let times = sends(&door, &[u32::MAX, 1]).await;
    assert_eq!(times, [0, 4_295]);
}

#[tokio::test(start_paused = true)]
async fn a_cost_of_ten_among_ones_offered_at_twice_the_rate_is_served_in_its_turn() {
    let door = paced(10.0, 10);
    let log = Log::new();
    let mut all = Vec::new();
    for tick in 0..1_200_u32 {
        let cost = if tick == 20 || tick == 600 { 11 } else { 1 };
        let (door, log) = (door.clone(), log.clone());
        all.push(tokio::spawn(async move {
            drop(door.acquire(cost).await.unwrap());
            log.at()
        }));
        tokio::time::sleep(ms(50)).await;
    }
    let (mut ahead, mut last) = (0_u32, 0);
    for (tick, one) in all.into_iter().enumerate() {
        let sent = one.await.unwrap();
        // Everything before it, at ten a second, less a burst.
        assert!(sent >= last, "{tick} overtook");
        let due = u64::from(ahead) * 100;
        assert!(sent <= due.max(tick as u64 * 50) + 200, "{tick} at {sent}");
        ahead += if tick == 20 || tick == 600 { 11 } else { 1 };
        last = sent;
    }
    assert_eq!(door.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_equals_are_served_in_the_order_in_which_they_came() {
    let door = paced(5.0, 1);
    let times = sends(&door, &[1; 100]).await;
    let expected: Vec<u64> = (0..100).map(|turn| turn * 200).collect();
    assert_eq!(times, expected);
}

#[tokio::test(start_paused = true)]
async fn one_who_comes_later_does_not_pass_those_who_wait() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let log = Log::new();
    let waits = tokio::spawn({
        let door = door.clone();
        async move { door.acquire(1).await.map(drop) }
    });
    tokio::time::sleep(ms(5)).await;
    drop(held);
    // The place was granted to the one who waits, who has not been polled yet.
    assert!(door.try_acquire(1).is_err());
    waits.await.unwrap().unwrap();
    assert_eq!(log.at(), 5);
    assert_free(&door, 1);
}
