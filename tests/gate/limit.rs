//! How many are in flight.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join, join_all, poll_fn};
use tidegate::{Door, GateLayer, Units, per_second};
use tokio::sync::Barrier as AsyncBarrier;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::support::{assert_free, now};
use crate::work;

/// How many are inside, and the most there were.
#[derive(Clone, Debug, Default)]
struct Gauge {
    now: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
}

/// One that is inside until it is dropped.
struct Inside(Gauge);

impl Gauge {
    fn enter(&self) -> Inside {
        self.peak
            .fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
        Inside(self.clone())
    }

    fn now(&self) -> usize {
        self.now.load(SeqCst)
    }

    fn peak(&self) -> usize {
        self.peak.load(SeqCst)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, SeqCst);
    }
}

/// Counts how often it is polled.
struct Counted<F>(Pin<Box<F>>, Arc<AtomicUsize>);

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.1.fetch_add(1, SeqCst);
        self.0.as_mut().poll(context)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_clones_that_are_ready_together_enter_ten_at_a_time() {
    let mut peaks = Vec::new();
    for seed in 0..200 {
        let gauge = Gauge::default();
        let gate = GateLayer::new(10).hold_head();
        let inside = gauge.clone();
        let service = gate.layer(service_fn(move |turns| {
            let inside = inside.clone();
            async move {
                let _inside = inside.enter();
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                Ok::<_, io::Error>(())
            }
        }));
        let all_ready = Arc::new(AsyncBarrier::new(200));
        let mut tasks = JoinSet::new();
        for task in 0..200 {
            let (mut service, all_ready) = (service.clone(), Arc::clone(&all_ready));
            tasks.spawn(async move {
                service.ready().await.unwrap();
                all_ready.wait().await;
                service.call((task * 7 + seed) % 5 + 1).await.unwrap();
            });
        }
        tasks.join_all().await;
        // Fewer where those that were granted a place are slow to come: threads may be.
        assert!(gauge.peak() <= 10, "seed {seed}");
        peaks.push(gauge.peak());

        let mut futures: Vec<_> = (0..10)
            .map(|_| Box::pin(service.clone().oneshot(3)))
            .collect();
        for future in &mut futures {
            assert!(future.now_or_never().is_none());
        }
        futures.truncate(5);
        assert_eq!(gate.handle().in_flight(), 5);
        join_all(futures).await;
        assert_free(&gate.handle(), 10);
    }
    assert_eq!(peaks.into_iter().max(), Some(10));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_polled_when_it_comes_and_when_its_turn_has_come() {
    let gate = GateLayer::new(10).hold_head();
    let service = gate.layer(work());
    let polls: Vec<_> = (0..200).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    let mut tasks = JoinSet::new();
    for polls in &polls {
        let future = Box::pin(service.clone().oneshot(1.s()));
        tasks.spawn(Counted(future, Arc::clone(polls)));
    }
    sleep(999.ms()).await;
    let counts = || polls.iter().map(|polls| polls.load(SeqCst));
    assert!(counts().all(|polls| polls == 1));
    tasks.join_all().await;
    // Those who waited are polled for their permit and for their answer.
    assert!(counts().take(10).all(|polls| polls == 2));
    assert!(counts().skip(10).all(|polls| polls == 3));
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_over_holds_no_place_while_it_is_kept() {
    let gate = GateLayer::new(2).hold_head();
    let service = gate.layer(work());
    let mut kept: Vec<_> = (0..2)
        .map(|_| Box::pin(service.clone().oneshot(100.ms())))
        .collect();
    for future in &mut kept {
        future.await.unwrap();
    }
    sleep(50.ms()).await;
    let started = now();
    service.oneshot(10.ms()).await.unwrap();
    assert_eq!(now() - started, 10.ms());
    assert_free(&gate.handle(), 2);
    drop(kept);
    assert_free(&gate.handle(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_layer_is_one_limit_for_all_its_services_where_towers_is_one_each() {
    async fn peak<S>(services: [S; 3], gauge: &Gauge) -> usize
    where
        S: Service<(), Response = ()> + Clone,
    {
        let requests = services.iter().cycle().take(30);
        join_all(requests.map(|service| service.clone().oneshot(()))).await;
        gauge.peak()
    }
    let gauged = |gauge: &Gauge| {
        let gauge = gauge.clone();
        service_fn(move |()| {
            let gauge = gauge.clone();
            async move {
                let _inside = gauge.enter();
                sleep(10.ms()).await;
                Ok::<_, io::Error>(())
            }
        })
    };
    let gauge = Gauge::default();
    let towers = ConcurrencyLimitLayer::new(2);
    let services = [0; 3].map(|_| towers.layer(gauged(&gauge)));
    assert_eq!(peak(services, &gauge).await, 6);

    let gauge = Gauge::default();
    let gate = GateLayer::new(2).hold_head();
    let services = [0; 3].map(|_| gate.layer(gauged(&gauge)));
    assert_eq!(peak(services, &gauge).await, 2);
}

/// 120 requests, the n-th of which takes n · 10 ms once it is inside, and `change` at 5 ms. Returns
/// how many were in flight whenever one entered after that.
async fn entries_after(gate: &GateLayer, change: impl FnOnce()) -> Vec<usize> {
    let handle = gate.handle();
    let gauge = Gauge::default();
    let entries = RefCell::new(Vec::new());
    let service = gate.clone().hold_head().layer(service_fn(|takes| {
        let inside = gauge.enter();
        assert!(gauge.now() <= handle.in_flight());
        entries.borrow_mut().push(handle.in_flight());
        async move {
            sleep(takes).await;
            drop(inside);
            Ok::<_, io::Error>(())
        }
    }));
    let requests = (1..=120).map(|nth| service.clone().oneshot((nth * 10).ms()));
    let changed = async {
        sleep(5.ms()).await;
        entries.borrow_mut().clear();
        change();
    };
    join(join_all(requests), changed).await;
    entries.take()
}

#[tokio::test(start_paused = true)]
async fn a_limit_lowered_below_what_is_in_flight_lets_nobody_in_until_there_is_room() {
    let gate = GateLayer::new(20);
    let handle = gate.handle();
    let entries = entries_after(&gate, || {
        handle.set_limit(2);
        assert_eq!((handle.limit(), handle.in_flight()), (2, 20));
    })
    .await;
    assert_eq!(entries, [2; 100]);
    assert_free(&handle, 2);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_moves_down_up_and_down_at_once_is_the_last_one() {
    let gate = GateLayer::new(20);
    let handle = gate.handle();
    let entries = entries_after(&gate, || {
        for limit in [5, 50, 5] {
            handle.set_limit(limit);
        }
    })
    .await;
    // The 30 that 50 let in, and then those that 5 let in.
    assert_eq!(entries[..30], [50; 30]);
    assert_eq!(entries[30..], [5; 70]);
    assert_free(&handle, 5);
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_lets_in_as_many_as_fit_at_once() {
    let gate = GateLayer::new(1);
    let handle = gate.handle();
    let entries = entries_after(&gate, || handle.set_limit(60)).await;
    assert_eq!(entries, [60; 119]);
    assert_free(&handle, 60);
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_nothing_is_one_and_one_without_end_is_the_highest() {
    let gate = GateLayer::new(5);
    let handle = gate.handle();
    handle.set_limit(usize::MAX);
    assert_eq!(handle.limit(), Door::MAX_LIMIT);
    handle.set_limit(0);
    assert_free(&handle, 1);
    assert_eq!(GateLayer::new(usize::MAX).handle().limit(), Door::MAX_LIMIT);
}

/// The holder lets go when the waiter's timeout fires: either way, the place is there afterwards.
#[tokio::test(start_paused = true)]
async fn a_grant_at_the_moment_of_the_waiters_timeout_is_not_lost() {
    for holder_is_first in [true, false] {
        let gate = GateLayer::new(1).hold_head();
        let service = gate.layer(work());
        let mut holder = Box::pin(service.clone().oneshot(100.ms()));
        assert!(holder.as_mut().now_or_never().is_none());
        let waiter = timeout(100.ms(), service.oneshot(10.ms()));
        if holder_is_first {
            let (held, _served_or_late) = join(holder, waiter).await;
            held.unwrap();
        } else {
            let (_served_or_late, held) = join(waiter, holder).await;
            held.unwrap();
        }
        assert_free(&gate.handle(), 1);
    }
}

/// Two threads at once: one lets go of the only place, the other drops the waiter, or polls it first.
#[test]
fn a_grant_that_races_a_drop_is_not_lost() {
    let gate = GateLayer::new(1).hold_head();
    let service = gate.layer(service_fn(async |()| Ok::<_, io::Error>(())));
    let handle = gate.handle();
    for round in 0..10_000 {
        let held = handle.try_acquire().unwrap();
        let mut waiter = Box::pin(service.clone().oneshot(()));
        assert!(waiter.as_mut().now_or_never().is_none());
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                if round % 2 == 0 {
                    let _served_or_not = waiter.as_mut().now_or_never();
                }
                drop(waiter);
            });
            start.wait();
            drop(held);
        });
        assert_free(&handle, 1);
    }
}

/// Six tasks, one instance: each gets it ready, and then calls it.
async fn six_tasks_on_one_instance(gate: &GateLayer) -> Vec<Duration> {
    let started = now();
    let upstream = service_fn(move |()| {
        let entered = now() - started;
        async move {
            sleep(1.s()).await;
            Ok::<_, io::Error>(entered)
        }
    });
    let service = gate.clone().hold_head().layer(upstream);
    let service = Arc::new(Mutex::new(service));
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let service = Arc::clone(&service);
        tasks.spawn(async move {
            poll_fn(|context| service.lock().unwrap().poll_ready(context))
                .await
                .unwrap();
            let answer = service.lock().unwrap().call(());
            answer.await.unwrap()
        });
    }
    let mut entered = tasks.join_all().await;
    entered.sort();
    entered
}

#[tokio::test(start_paused = true)]
async fn tasks_that_share_one_instance_are_all_served() {
    let seconds: Vec<_> = (0..6).map(Units::s).collect();
    assert_eq!(six_tasks_on_one_instance(&GateLayer::new(1)).await, seconds);
    let paced = GateLayer::new(6).pace(per_second(1.0));
    assert_eq!(six_tasks_on_one_instance(&paced).await, seconds);
    let paused = GateLayer::new(6);
    paused.handle().pause_until((now() + 5.s()).into_std());
    assert_eq!(six_tasks_on_one_instance(&paused).await, [5.s(); 6]);
}
