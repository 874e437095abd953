//! Somebody who waits, or was let in, and is not polled.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::join3;
use futures_util::stream::{self, StreamExt};
use tidegate_admission::Door;
use tidegate_core::per_second;

use crate::support::{Log, assert_free, ms, poll_once};

/// Three callers, and when they entered.
async fn others(door: &Door) -> Vec<u64> {
    let log = Log::new();
    let others: Vec<_> = (0..3)
        .map(|_| {
            let (door, log) = (door.clone(), log.clone());
            tokio::spawn(async move {
                let _permit = door.acquire(1).await.unwrap();
                log.note();
            })
        })
        .collect();
    for one in others {
        one.await.unwrap();
    }
    log.times()
}

fn assert_soon(times: &[u64]) {
    assert!(
        times.iter().all(|&at| (100..=150).contains(&at)),
        "{times:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_polled_once_and_kept_is_passed_over_and_is_the_first_again_when_it_is_polled() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let mut kept = door.acquire(1);
    assert!(poll_once(&mut kept).is_pending());
    drop(held);
    assert_eq!(door.in_flight(), 1);
    assert_soon(&others(&door).await);

    let held = door.try_acquire(1).unwrap();
    let mut later = door.acquire(1);
    assert!(poll_once(&mut later).is_pending());
    assert!(poll_once(&mut kept).is_pending());
    drop(held);
    assert!(poll_once(&mut later).is_pending());
    let Poll::Ready(Ok(inside)) = poll_once(&mut kept) else {
        panic!("the first to come is the first to enter");
    };
    drop((inside, later));
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_kept_are_passed_over_together() {
    let door = Door::new("gate", 10);
    let held: Vec<_> = (0..10).map(|_| door.try_acquire(1).unwrap()).collect();
    let mut kept: Vec<_> = (0..100).map(|_| door.acquire(1)).collect();
    assert!(kept.iter_mut().all(|one| poll_once(one).is_pending()));
    drop(held);
    let times = others(&door).await;
    assert_soon(&times);
    // All of them return, the last first.
    let mut entered = 0;
    for one in kept.iter_mut().rev() {
        entered += usize::from(poll_once(one).is_ready());
    }
    assert_eq!((entered, door.waiting()), (100, 0));
    drop(kept);
    assert_free(&door, 10);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_forgotten_is_passed_over() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let mut forgotten = door.acquire(1);
    assert!(poll_once(&mut forgotten).is_pending());
    std::mem::forget(forgotten);
    drop(held);
    assert_soon(&others(&door).await);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_lost_a_select_and_is_kept_is_passed_over() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let mut lost = pin!(door.acquire(1));
    tokio::select! {
        biased;
        _ = &mut lost => unreachable!("it is full"),
        () = tokio::time::sleep(ms(10)) => {}
    }
    drop(held);
    assert_soon(&others(&door).await);
    drop(lost.await.unwrap());
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_passed_over_gives_its_tokens_back() {
    let door = Door::new("rate", 10);
    door.set_pace(Some(per_second(2.0)));
    drop(door.try_acquire(1).unwrap());
    let mut kept = door.acquire(1);
    assert!(poll_once(&mut kept).is_pending());
    let log = Log::new();
    let next = door.acquire(1).await.unwrap();
    // A token came at 500 for the one that is kept; 100 to 150 ms later it is there for the next.
    assert!((600..=650).contains(&log.at()), "{}", log.at());
    let at = log.at();
    drop(next);
    let next = door.acquire(1).await.unwrap();
    assert_eq!(log.at(), at + 500);
    drop((next, kept));
    assert_free(&door, 10);
}

#[tokio::test(start_paused = true)]
async fn three_joined_in_one_task_are_all_served() {
    let door = Door::new("rate", 1);
    door.set_pace(Some(per_second(10.0)));
    let log = Log::new();
    let one = || async {
        let _permit = door.acquire(1).await.unwrap();
        log.note();
    };
    join3(one(), one(), one()).await;
    assert_eq!(log.times(), [0, 100, 200]);
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn a_buffer_with_a_slow_consumer_holds_up_nobody_else() {
    let door = Door::new("gate", 2);
    let log = Log::new();
    let slow = tokio::spawn({
        let door = door.clone();
        async move {
            let mut requests = stream::iter(0..20)
                .map(|_| async {
                    let permit = door.acquire(1).await.unwrap();
                    tokio::time::sleep(ms(10)).await;
                    drop(permit);
                })
                .buffer_unordered(10);
            let mut done = 0;
            while requests.next().await.is_some() {
                done += 1;
                // The stream is not polled meanwhile, nor are the futures in it.
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            done
        }
    });
    tokio::time::sleep(ms(5)).await;
    for _ in 0..20 {
        let from = log.at();
        let permit = tokio::time::timeout(ms(1_150), door.acquire(1)).await;
        drop(permit.unwrap().unwrap());
        assert!(log.at() - from <= 1_150);
        tokio::time::sleep(ms(70)).await;
    }
    assert_eq!(slow.await.unwrap(), 20);
    assert_free(&door, 2);
}

#[tokio::test(start_paused = true)]
async fn a_future_that_nobody_polls_holds_neither_a_place_nor_a_turn() {
    let door = Door::new("gate", 1);
    let idle: Vec<_> = (0..10).map(|_| door.acquire(1)).collect();
    drop(door.try_acquire(1).unwrap());
    let inside = door.acquire(1).await.unwrap();
    assert_eq!((door.in_flight(), door.waiting()), (1, 0));
    drop((inside, idle));
    assert_free(&door, 1);
}

#[tokio::test(start_paused = true)]
async fn one_passed_over_that_returns_after_its_longest_wait_is_refused_unless_there_is_room() {
    let door = Door::new("gate", 1);
    door.set_max_wait(Some(ms(200)));
    let held = door.try_acquire(1).unwrap();
    let mut kept = door.acquire(1);
    assert!(poll_once(&mut kept).is_pending());
    drop(held);
    let other = door.acquire(1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let log = Log::new();
    assert!(kept.await.is_err());
    assert_eq!(log.at(), 0);
    drop(other);
    assert_free(&door, 1);
}

/// Not every future is a task: what is woken may poll others than the one that was granted.
#[tokio::test(start_paused = true)]
async fn a_waker_shared_by_two_futures_serves_both() {
    let door = Door::new("gate", 1);
    let held = door.try_acquire(1).unwrap();
    let (mut first, mut second) = (pin!(door.acquire(1)), pin!(door.acquire(1)));
    let (mut entered, mut turns) = (0, 0);
    let both = std::future::poll_fn(|context| {
        turns += 1;
        if entered == 0 && first.as_mut().poll(context).map(drop).is_ready() {
            entered = 1;
        }
        if entered == 1 || turns == 1 {
            return second.as_mut().poll(context).map(drop);
        }
        Poll::Pending
    });
    let release = tokio::spawn(async move { drop(held) });
    both.await;
    release.await.unwrap();
    assert_free(&door, 1);
}
