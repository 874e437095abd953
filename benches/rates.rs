//! What a rate does under 64 tasks that never stop: how much of the rate is used, what a call costs
//! in CPU time, and how evenly the tasks are served; beside the limiters that others have written.
//!
//! Then how late another task is beside a crowd that waits. 10,000 a second, two workers, in turn,
//! three seconds each. Linux only, for the CPU time.

use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::{Quota, RateLimiter};
use tidegate::{RateLayer, per_second};
use tokio::runtime::Builder;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_resilience_ratelimiter::RateLimiterLayer;

const TASKS: usize = 64;
const RATE: u32 = 10_000;
const LENGTH: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;
/// What comes in a tick of the timer, and one.
const BURST: u32 = 11;

fn main() {
    for round in 1..=ROUNDS {
        println!("round {round}");
        let pace = per_second(f64::from(RATE)).burst(BURST);
        row("tidegate rate", || RateLayer::new(pace).layer(works()));
        row("tidegate rate, two quotas", || {
            RateLayer::new(pace).and(pace).layer(works())
        });
        row("governor until_ready", governor);
        row("leaky-bucket", leaky_bucket);
        row("tower-resilience", tower_resilience);
        lateness("no crowd", 0);
        lateness("a crowd of 10,000", 10_000);
    }
}

fn works() -> impl Subject<Error = Infallible> {
    service_fn(async |()| Ok::<_, Infallible>(()))
}

fn governor() -> impl Subject {
    let rate = NonZeroU32::new(RATE).expect("it is above zero");
    let burst = NonZeroU32::new(BURST).expect("it is above zero");
    let limiter = Arc::new(RateLimiter::direct(
        Quota::per_second(rate).allow_burst(burst),
    ));
    service_fn(move |()| {
        let limiter = Arc::clone(&limiter);
        async move {
            limiter.until_ready().await;
            Ok::<_, Infallible>(())
        }
    })
}

fn leaky_bucket() -> impl Subject {
    let limiter = leaky_bucket::RateLimiter::builder()
        .initial(0)
        .max((RATE / 100) as usize)
        .refill((RATE / 100) as usize)
        .interval(Duration::from_millis(10))
        .build();
    let limiter = Arc::new(limiter);
    service_fn(move |()| {
        let limiter = Arc::clone(&limiter);
        async move {
            limiter.acquire_one().await;
            Ok::<_, Infallible>(())
        }
    })
}

fn tower_resilience() -> impl Subject {
    RateLimiterLayer::builder()
        .limit_for_period((RATE / 100) as usize)
        .refresh_period(Duration::from_millis(10))
        .backpressure()
        .build()
        .expect("a valid configuration")
        .layer(works())
}

trait Subject: Service<(), Error: Send, Response: Send, Future: Send> + Clone + Send + 'static {}

impl<S> Subject for S where
    S: Service<(), Error: Send, Response: Send, Future: Send> + Clone + Send + 'static
{
}

fn row<S: Subject>(name: &str, subject: impl FnOnce() -> S) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime can be built");
    let (calls, took, cpu) = runtime.block_on(async {
        let service = subject();
        let (from, cpu) = (now(), cpu_time());
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move {
                    let mut calls = 0_u32;
                    while now() - from < LENGTH {
                        calls += u32::from(service.clone().oneshot(()).await.is_ok());
                    }
                    calls
                })
            })
            .collect();
        let mut calls = Vec::new();
        for mut task in tasks {
            // Some hang.
            let patience = Duration::from_secs(1) + (LENGTH.saturating_sub(now() - from));
            match tokio::time::timeout(patience, &mut task).await {
                Ok(done) => calls.push(done.expect("no call panics")),
                Err(_) => task.abort(),
            }
        }
        (calls, now() - from, cpu_time().saturating_sub(cpu))
    });
    runtime.shutdown_background();
    let sum: u32 = calls.iter().sum();
    let (least, most) = (calls.iter().min(), calls.iter().max());
    println!(
        "{name:<28} {:>6.3} of the rate {:>7.2} µs of CPU a call, served {}..{}, {} hang",
        f64::from(sum) / (f64::from(RATE) * took.as_secs_f64()),
        cpu.as_secs_f64() * 1e6 / f64::from(sum.max(1)),
        least.unwrap_or(&0),
        most.unwrap_or(&0),
        TASKS - calls.len(),
    );
}

/// How late a task that wants its turn each millisecond is, beside a crowd on the same thread that waits
/// for the end of a pause and then leaves at the rate.
fn lateness(name: &str, crowd: usize) {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be built");
    let mut late = runtime.block_on(async {
        let rate = RateLayer::new(per_second(f64::from(RATE)).burst(BURST));
        rate.handle().pause_until(now() + LENGTH / 3);
        let service = rate.layer(works());
        for _ in 0..crowd {
            tokio::spawn(service.clone().oneshot(()));
        }
        tokio::task::yield_now().await;
        let from = now();
        let mut ticks = tokio::time::interval(Duration::from_millis(1));
        let mut late = Vec::new();
        while now() - from < LENGTH {
            let due = ticks.tick().await;
            late.push(now().saturating_duration_since(due.into_std()));
        }
        late
    });
    late.sort_unstable();
    let at = |share: usize| late[(late.len() - 1) * share / 1_000].as_secs_f64() * 1e3;
    println!(
        "a tick of 1 ms beside {name:<18} late by {:.2} ms at p50, {:.2} at p99, {:.2} at p99.9, {:.2} at most",
        at(500),
        at(990),
        at(999),
        at(1_000),
    );
}

/// Of this process, also of threads that have ended, in ticks of 10 ms.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_the_name = stat.rsplit(") ").next().unwrap_or_default();
    let (user, system) = (11, 12);
    let fields: Vec<u64> = after_the_name
        .split(' ')
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let ticks = [user, system].map(|field| fields.get(field).copied().unwrap_or(0));
    Duration::from_millis(10 * ticks.iter().sum::<u64>())
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
