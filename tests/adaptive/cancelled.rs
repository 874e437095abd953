//! Requests that are dropped at every point of their way: nothing is lost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use futures_util::future::{join, join_all};
use http_body_util::BodyExt;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidegate::{HttpClassifier, Units};
use tidegate_testkit::{Response, Upstream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt, service_fn};

use crate::each_layer;
use crate::ground::{get, judge};
use crate::history::History;

/// It waits for 2 ms, is answered 2 ms later, and has a body of three pieces 2 ms apart.
#[tokio::test(start_paused = true)]
async fn dropped_at_any_time_it_leaves_nothing_and_is_one_sample_if_it_was_sent() {
    each_layer!(Layer, name => {
        for ms in 0..10 {
            let upstream = Upstream::unlimited()
                .respond(|_| Response::new(200).after(2.ms()).chunks(3, "tide ", 2.ms()))
                .start_in_process();
            let layer = Layer::new(HttpClassifier::default());
            let (handle, history) = (layer.handle(), History::of(&layer.handle()));
            let stack = layer.layer(upstream.direct());
            let inside = handle.try_acquire(1).unwrap();
            let leave = async {
                sleep(2.ms()).await;
                drop(inside);
            };
            let call = async {
                let response = stack.clone().oneshot(get("/")).await.unwrap();
                response.into_body().collect().await.unwrap();
            };
            let (call, ()) = join(timeout(ms.ms(), call), leave).await;
            assert_eq!(call.is_ok(), ms >= 8, "{name}, {ms} ms");
            let sent = upstream.report().arrivals;
            assert_eq!(sent, u64::from(ms > 2), "{name}, {ms} ms");
            assert_eq!(history.outcomes().len() as u64, sent, "{name}, {ms} ms");
            assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
        }
    });
}

/// A service that counts its calls and yields several times.
#[tokio::test(start_paused = true)]
async fn dropped_after_any_number_of_polls_it_leaves_nothing_and_is_one_sample_if_it_was_sent() {
    each_layer!(Layer, name => {
        for polls in 0..12 {
            let calls = Arc::new(AtomicU64::new(0));
            let layer = Layer::new(judge).hold_head();
            let (handle, history) = (layer.handle(), History::of(&layer.handle()));
            let counted = Arc::clone(&calls);
            let stack = layer.layer(service_fn(move |()| {
                counted.fetch_add(1, SeqCst);
                async {
                    for _ in 0..5 {
                        tokio::task::yield_now().await;
                    }
                    Ok::<_, io::Error>(4)
                }
            }));
            let mut call = Box::pin(stack.oneshot(()));
            for _ in 0..polls {
                if futures_util::poll!(call.as_mut()).is_ready() {
                    break;
                }
            }
            drop(call);
            let sent = calls.load(SeqCst);
            assert_eq!(sent, u64::from(polls > 0));
            assert_eq!(history.outcomes().len() as u64, sent, "{name}, {polls} polls");
            assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
        }
    });
}

#[tokio::test(start_paused = true)]
async fn of_thousands_that_are_dropped_early_nothing_is_left() {
    each_layer!(Layer, name => {
        let calls = Arc::new(AtomicU64::new(0));
        let layer = Layer::new(judge).start(20).hold_head();
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let counted = Arc::clone(&calls);
        let stack = layer.layer(service_fn(move |takes| {
            counted.fetch_add(1, SeqCst);
            async move {
                sleep(takes).await;
                Ok::<_, io::Error>(4)
            }
        }));
        let mut random = SmallRng::seed_from_u64(7);
        let calls_of_users = (0..5_000).map(|_| {
            let (takes, patience) = (random.random_range(1..50), random.random_range(0..200));
            timeout(patience.ms(), stack.clone().oneshot(takes.ms()))
        });
        join_all(calls_of_users).await;
        let sent = calls.load(SeqCst);
        assert!(sent > 20, "{name}: {sent}");
        assert_eq!(history.outcomes().len() as u64, sent);
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
        assert!((1..=5_000).contains(&handle.limit()));
    });
}

/// Four threads, where a drop may meet a grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nor_is_it_while_the_limit_is_moved_from_20_to_1_and_back() {
    each_layer!(Layer, name => {
        let calls = Arc::new(AtomicU64::new(0));
        let layer = Layer::new(judge).start(20).hold_head();
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let counted = Arc::clone(&calls);
        let stack = layer.layer(service_fn(move |turns| {
            counted.fetch_add(1, SeqCst);
            async move {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                Ok::<_, io::Error>(4)
            }
        }));
        let mut tasks = JoinSet::new();
        for task in 0..200_u64 {
            let stack = stack.clone();
            tasks.spawn(async move {
                let mut random = SmallRng::seed_from_u64(task);
                for _ in 0..50 {
                    let mut call = Box::pin(stack.clone().oneshot(random.random_range(0..9)));
                    if random.random_bool(0.3) {
                        let _ = futures_util::poll!(call.as_mut());
                        tokio::task::yield_now().await;
                    } else {
                        call.await.unwrap();
                    }
                }
            });
        }
        for round in 0..300 {
            handle.set_limit(if round % 2 == 0 { 1 } else { 20 });
            tokio::task::yield_now().await;
        }
        tasks.join_all().await;
        assert_eq!(history.outcomes().len() as u64, calls.load(SeqCst), "{name}");
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0), "{name}");
    });
}
