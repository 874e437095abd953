//! A million requests that do nothing, through a gate of 100, on two workers: how many a second a batch
//! drives, beside what drives them by hand, and by how much the process grows. The bar is 500,000 a
//! second and 64 MiB. Linux only, for the memory.

use std::convert::Infallible;
use std::future::ready;
use std::time::Instant;

use futures_util::{StreamExt, stream};
use tidegate::{Batch, Error, GateLayer, Steer};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceExt, service_fn};

const REQUESTS: usize = 1_000_000;
const LIMIT: usize = 100;
const ROUNDS: usize = 5;

fn main() {
    for round in 1..=ROUNDS {
        println!("round {round}");
        row("batch", batch(false));
        row("batch, in input order", batch(true));
        row("a task for each, by hand", tasks());
        row("buffer_unordered, no tasks", buffered());
    }
}

fn stack() -> (impl Subject, impl Steer + Clone + 'static) {
    let gate = GateLayer::new(LIMIT).hold_head();
    let handle = gate.handle();
    let works = service_fn(async |request: usize| Ok::<_, Infallible>(request));
    (gate.layer(works), handle)
}

trait Subject:
    Service<usize, Response = usize, Error = Error, Future: Send> + Clone + Send + 'static
{
}

impl<S> Subject for S where
    S: Service<usize, Response = usize, Error = Error, Future: Send> + Clone + Send + 'static
{
}

async fn batch(in_order: bool) {
    let (stack, handle) = stack();
    let batch = Batch::new(stack, 0..REQUESTS).steer(handle);
    let batch = if in_order { batch.in_order() } else { batch };
    let mut results = batch.each(|_, answer| ready(answer));
    let (mut sum, mut next) = (0, 0);
    while let Some(ended) = results.next().await {
        assert_eq!(ended.result.expect("nothing fails"), ended.index);
        assert!(!in_order || ended.index == next);
        sum += ended.index;
        next += 1;
    }
    let counts = results.into_summary().counts;
    assert_eq!((counts.succeeded, counts.tries), (REQUESTS, REQUESTS));
    assert_eq!(sum, REQUESTS * (REQUESTS - 1) / 2);
}

/// As many tasks as the batch would have, and nothing counted.
async fn tasks() {
    let (stack, _) = stack();
    let (mut tasks, mut ended) = (JoinSet::new(), 0);
    for request in 0..REQUESTS {
        if tasks.len() == LIMIT + 8 {
            ended += usize::from(tasks.join_next().await.is_some());
        }
        tasks.spawn(stack.clone().oneshot(request));
    }
    ended += tasks.join_all().await.len();
    assert_eq!(ended, REQUESTS);
}

async fn buffered() {
    let (stack, _) = stack();
    let answers = stream::iter(0..REQUESTS)
        .map(|request| stack.clone().oneshot(request))
        .buffer_unordered(LIMIT + 8);
    assert_eq!(answers.count().await, REQUESTS);
}

fn row(name: &str, drive: impl Future<Output = ()> + Send + 'static) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime can be built");
    let (before, from) = (peak_memory(), now());
    let driven = runtime.block_on(runtime.spawn(drive));
    let took = now() - from;
    driven.expect("nothing panics");
    println!(
        "{name:<28} {:>9.0} requests/s, {} KiB more at the peak",
        REQUESTS as f64 / took.as_secs_f64(),
        peak_memory().saturating_sub(before),
    );
}

/// The most this process ever held, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let digits = peak.and_then(|peak| peak.split_whitespace().next());
    digits.and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}
