//! What it costs to find the layer of a known host, beside a plain `Mutex<HashMap>`.
//!
//! `cargo bench -p tidegate-keyed`. Each call finds its gate, builds the service, takes and gives back a
//! permit; what the call costs without a look-up is printed first. Two threads at once, over hosts of
//! their own, over the same hosts, and over one.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use http::Request;
use tidegate_gate::GateLayer;
use tidegate_keyed::KeyedLayer;
use tower::{Layer, Service};

const CALLS: u32 = 200_000;
const BATCHES: usize = 21;
const HOSTS: usize = 64;
const THREADS: usize = 2;

type Layered = GateLayer<tidegate_gate::HoldHead>;

fn main() {
    println!(
        "{:>24}: {:>8} {:>8} {:>8}   ns per call, median",
        "", "none", "plain", "keyed"
    );
    let own = |thread: usize| (0..HOSTS).map(|host| thread * HOSTS + host).collect();
    row("one thread", 1, own);
    row("two threads, own hosts", THREADS, own);
    row("two threads, same hosts", THREADS, |_| (0..HOSTS).collect());
    row("two threads, one host", THREADS, |_| vec![0]);
}

fn row(name: &str, threads: usize, hosts: impl Fn(usize) -> Vec<usize> + Copy) {
    let none = measure(threads, hosts, &gate().layer(Echo));
    let plain = measure(threads, hosts, &Plain::default());
    let keyed = measure(
        threads,
        hosts,
        &KeyedLayer::per_host(|_| gate()).layer(Echo),
    );
    let ratio = keyed / plain;
    let look_up = (keyed - none) / (plain - none);
    println!(
        "{name:>24}: {none:8.1} {plain:8.1} {keyed:8.1}   keyed/plain {ratio:.2}, look-ups alone {look_up:.2}"
    );
}

fn gate() -> Layered {
    GateLayer::new(1_000).hold_head()
}

/// Gives the request back, so that it is used again.
#[derive(Clone, Copy)]
struct Echo;

impl Service<Request<()>> for Echo {
    type Response = Request<()>;
    type Error = Infallible;
    type Future = Ready<Result<Request<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        ready(Ok(request))
    }
}

/// What one would write.
#[derive(Clone, Default)]
struct Plain(Arc<Mutex<HashMap<String, Arc<Layered>>>>);

impl Service<Request<()>> for Plain {
    type Response = Request<()>;
    type Error = tidegate_core::Error;
    type Future = <<Layered as Layer<Echo>>::Service as Service<Request<()>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let host = request.uri().host().unwrap_or_default();
        let mut gates = self.0.lock().unwrap();
        let layer = if let Some(known) = gates.get(host) {
            Arc::clone(known)
        } else {
            let layer = Arc::new(gate());
            gates.insert(host.to_owned(), Arc::clone(&layer));
            layer
        };
        drop(gates);
        layer.layer(Echo).call(request)
    }
}

fn measure<S>(threads: usize, hosts: impl Fn(usize) -> Vec<usize>, service: &S) -> f64
where
    S: Service<Request<()>, Response = Request<()>> + Clone + Send,
{
    let mut nanos: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let barrier = Barrier::new(threads);
            let times = thread::scope(|scope| {
                let running: Vec<_> = (0..threads)
                    .map(|thread| {
                        let (hosts, service) = (hosts(thread), service.clone());
                        let barrier = &barrier;
                        scope.spawn(move || run(&hosts, service, barrier))
                    })
                    .collect();
                running
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect::<Vec<_>>()
            });
            times.iter().sum::<f64>() / threads as f64
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    nanos[BATCHES / 2]
}

fn run<S>(hosts: &[usize], mut service: S, barrier: &Barrier) -> f64
where
    S: Service<Request<()>, Response = Request<()>>,
{
    let mut requests: Vec<_> = hosts
        .iter()
        .map(|host| {
            Some(
                Request::get(format!("http://host-{host}.example/"))
                    .body(())
                    .unwrap(),
            )
        })
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut step = |slot: &mut Option<Request<()>>| {
        let future = pin!(service.call(slot.take().unwrap()));
        let Poll::Ready(Ok(request)) = future.poll(&mut context) else {
            panic!("an echo has an answer at once");
        };
        *slot = Some(request);
    };
    requests.iter_mut().for_each(&mut step);
    barrier.wait();
    let began = clock();
    let mut slots = 0;
    for _ in 0..CALLS {
        step(&mut requests[slots]);
        slots = (slots + 1) % hosts.len();
    }
    (clock() - began).as_secs_f64() * 1e9 / f64::from(CALLS)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}
