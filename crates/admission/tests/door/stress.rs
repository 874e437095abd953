//! Many at once on two workers. Real time, small.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use tidegate_admission::Door;
use tidegate_core::per_second;
use tokio::sync::Barrier;

use crate::support::{Polls, assert_free, ms};

/// How many are inside; one who ends in any way counts no more.
struct Inside(Arc<AtomicUsize>);

impl Inside {
    fn count(inside: &Arc<AtomicUsize>, most: &AtomicUsize) -> Self {
        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
        Self(Arc::clone(inside))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_behind_a_barrier_of_whom_some_are_dropped_never_exceed_ten() {
    let door = Door::new("gate", 10);
    let inside = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    for round in 0..20 {
        let barrier = Arc::new(Barrier::new(200));
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                let (door, barrier) = (door.clone(), Arc::clone(&barrier));
                let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
                tokio::spawn(async move {
                    barrier.wait().await;
                    let (permit, polls) = Polls::of(door.acquire(1)).await;
                    assert!(polls <= 3, "{polls} polls");
                    let _permit = permit.unwrap();
                    let _inside = Inside::count(&inside, &most);
                    tokio::time::sleep(ms(1)).await;
                })
            })
            .collect();
        for (number, task) in tasks.into_iter().enumerate() {
            // Some end in the middle of whatever they do, once the barrier has opened.
            if number > 0 && (number + round) % 10 == 0 {
                task.abort();
            }
            match task.await {
                Ok(()) => {}
                Err(ended) => assert!(ended.is_cancelled()),
            }
        }
        assert_free(&door, 10);
    }
    assert_eq!(most.load(SeqCst), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_and_a_give_up_at_the_same_instant_lose_no_place() {
    let door = Door::new("gate", 1);
    let start = Arc::new(Barrier::new(2));
    let rounds = 10_000;
    let (give, mut take) = tokio::sync::mpsc::channel(1);
    let leaver = tokio::spawn({
        let start = Arc::clone(&start);
        async move {
            for round in 0..rounds {
                let held: tidegate_admission::Permit = take.recv().await.unwrap();
                start.wait().await;
                if round % 3 == 0 {
                    tokio::task::yield_now().await;
                }
                drop(held);
            }
        }
    });
    for round in 0..rounds {
        let held = door.acquire(1).await.unwrap();
        let mut waits = door.acquire(1);
        assert!(crate::support::poll_once(&mut waits).is_pending());
        give.send(held).await.unwrap();
        start.wait().await;
        if round % 2 == 0 {
            let _ = crate::support::poll_once(&mut waits);
        }
        drop(waits);
        // Whoever comes next gets in: the place is in no hand.
        let next = tokio::time::timeout(ms(20_000), door.acquire(1)).await;
        drop(next.expect("a place was lost").unwrap());
        if round % 100 == 0 {
            while door.in_flight() > 0 {
                tokio::task::yield_now().await;
            }
            assert_free(&door, 1);
        }
    }
    leaver.await.unwrap();
    assert_free(&door, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_at_once_ends_with_every_place_and_every_token() {
    let door = Door::new("gate", 4);
    let pace = per_second(20_000.0).burst(50);
    door.set_pace(Some(pace));
    let tasks: Vec<_> = (0..32_u32)
        .map(|number| {
            let door = door.clone();
            tokio::spawn(async move {
                for step in 0..150_u32 {
                    match (number + step) % 8 {
                        0 => drop(door.try_acquire(1)),
                        1 => drop(tokio::time::timeout(ms(1), door.acquire(2)).await),
                        2 => {
                            if let Ok(permit) = door.acquire(1).await {
                                permit.give_back();
                            }
                        }
                        3 if number == 3 => door.set_limit(1 + step as usize % 6),
                        4 if number == 4 => {
                            door.set_pace((step % 3 > 0).then_some(pace));
                        }
                        5 if number == 5 => {
                            door.pause_until((crate::support::now() + ms(1)).into_std());
                        }
                        _ => {
                            let permit = door.acquire(1).await.unwrap();
                            tokio::task::yield_now().await;
                            drop(permit);
                        }
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        tokio::time::timeout(ms(60_000), task)
            .await
            .expect("a wake-up was lost")
            .unwrap();
    }
    door.end_pause();
    door.set_pace(None);
    door.set_limit(4);
    assert_free(&door, 4);
}
