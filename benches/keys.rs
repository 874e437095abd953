//! What it costs to find the layer of a known key, beside calling that layer as it is; and what the
//! slowest of a hundred calls takes while old keys are cleaned away.
//!
//! All in the same process and the same round, in turn, in windows of about 5 ms; the medians over
//! several processes are what is reported. See `target/tidegate/keys.json` for the figures.
//!
//! The plain layer is a gate for each key that was looked up beforehand: it touches as much memory as
//! the keyed one, and its two threads do not meet at one gate.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::pin;
use std::process::Command;
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use http::Request;
use serde_json::{Value, json};
use tidegate::{Gate, GateLayer, HoldHead, Keyed, KeyedLayer, PerHost};
use tower::{Layer, Service};

const PROCESSES: usize = 5;
const WINDOWS: usize = 20;
const SWEEPS: usize = 5;
const WINDOW: Duration = Duration::from_millis(5);
const KEYS: usize = 1_000;
const ACTIVE: usize = 100;
/// How many keys there are to be cleaned away.
const STALE: usize = 50_000;

type Head = Request<()>;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--child") {
        println!("{}", measure_all());
        return;
    }
    let processes: Vec<Value> = (0..PROCESSES).map(|_| child(&arguments[0])).collect();
    let of = |name: &str| {
        let values = processes.iter().map(|process| process[name].as_f64());
        median(values.map(|value| value.unwrap_or(f64::NAN)).collect())
    };
    let names = processes[0].as_object().expect("an object").keys();
    let table: Value = names.map(|name| (name.clone(), json!(of(name)))).collect();
    for (name, value) in table.as_object().expect("an object") {
        println!("{name:<52} {:>9.1}", value.as_f64().unwrap_or_default());
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tidegate");
    std::fs::create_dir_all(folder).expect("the target folder can be written");
    let text = serde_json::to_string_pretty(&table).expect("numbers and names are JSON");
    std::fs::write(format!("{folder}/keys.json"), text).expect("the target folder can be written");
}

fn child(program: &str) -> Value {
    let output = Command::new(program).arg("--child").output();
    let output = output.expect("this program can be run again");
    serde_json::from_slice(&output.stdout).expect("a child prints JSON")
}

fn measure_all() -> Value {
    let (one, two) = (costs(1), costs(2));
    let slowest = slowest();
    json!({
        "1 thread, ns per call of the plain layer": one.plain,
        "1 thread, ns more per keyed call": one.more,
        "2 threads, ns per call of the plain layer": two.plain,
        "2 threads, ns more per keyed call": two.more,
        "allocations per keyed call": allocations(),
        "p99 of the plain layer, ns": slowest.plain,
        "p99 of a keyed call while nothing is cleaned, ns": slowest.quiet,
        "p99 of a keyed call while keys are cleaned, ns": slowest.cleaning,
        "p99 while cleaning / p99 of the plain layer": slowest.cleaning / slowest.plain,
        "p99 while cleaning / p99 while nothing is": slowest.cleaning / slowest.quiet,
    })
}

fn gate() -> GateLayer<HoldHead> {
    GateLayer::new(1_000).hold_head()
}

fn plain() -> Vec<Gate<Echo, HoldHead>> {
    (0..KEYS).map(|_| gate().layer(Echo)).collect()
}

fn keyed() -> Keyed<Echo, PerHost, GateLayer<HoldHead>> {
    KeyedLayer::per_host(|_| gate()).layer(Echo)
}

/// Gives the request back, so that it is used again.
#[derive(Clone, Copy)]
struct Echo;

impl Service<Head> for Echo {
    type Response = Head;
    type Error = Infallible;
    type Future = Ready<Result<Head, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Head) -> Self::Future {
        ready(Ok(request))
    }
}

fn requests(keys: usize) -> Vec<Option<Head>> {
    let request = |host| Request::get(format!("http://host-{host}.example/")).body(());
    let requests = (0..keys).map(|host| request(host).expect("it is a URI"));
    requests.map(Some).collect()
}

#[inline]
fn call<S>(service: &mut S, slot: &mut Option<Head>)
where
    S: Service<Head, Response = Head>,
{
    let request = slot.take().expect("it came back");
    let future = pin!(service.call(request));
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(request)) => *slot = Some(black_box(request)),
        _ => panic!("an echo has an answer at once"),
    }
}

struct Costs {
    plain: f64,
    more: f64,
}

/// Windows of the plain layer and of the keyed one in turn, with so many threads over all keys.
fn costs(threads: usize) -> Costs {
    let (gates, stack) = (plain(), keyed());
    let calls_in = |calls: u32, keyed: bool| -> f64 {
        let barrier = Barrier::new(threads);
        let run = &|thread: usize| {
            let (mut gates, mut stack, mut requests) =
                (gates.clone(), stack.clone(), requests(KEYS));
            if keyed {
                requests.iter_mut().for_each(|slot| call(&mut stack, slot));
            }
            barrier.wait();
            let began = clock();
            let mut key = thread * KEYS / threads;
            for _ in 0..calls {
                if keyed {
                    call(&mut stack, &mut requests[key]);
                } else {
                    call(&mut gates[key], &mut requests[key]);
                }
                key = (key + 1) % KEYS;
            }
            (clock() - began).as_nanos() as f64 / f64::from(calls)
        };
        let nanos: Vec<f64> = thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || run(thread)))
                .collect();
            let done = running.into_iter().map(thread::ScopedJoinHandle::join);
            done.map(|nanos| nanos.expect("no call panics")).collect()
        });
        nanos.iter().sum::<f64>() / threads as f64
    };
    let calls = (WINDOW.as_nanos() as f64 / calls_in(1_000, false)) as u32;
    let (mut plain, mut more) = (Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        let (alone, found) = (calls_in(calls, false), calls_in(calls, true));
        plain.push(alone);
        more.push(found - alone);
    }
    Costs {
        plain: median(plain),
        more: median(more),
    }
}

/// Allocations per call of a key that is known.
fn allocations() -> f64 {
    let (mut stack, mut requests) = (keyed(), requests(KEYS));
    requests.iter_mut().for_each(|slot| call(&mut stack, slot));
    let counted = measure(|| requests.iter_mut().for_each(|slot| call(&mut stack, slot)));
    counted.count_total as f64 / KEYS as f64
}

struct Slowest {
    plain: f64,
    quiet: f64,
    cleaning: f64,
}

/// Each call of a hundred keys by itself, the clock's own time included: of their gates, of a set that
/// has no others, and of one that is cleaned of many all the time.
fn slowest() -> Slowest {
    let mut gates = plain();
    let mut quiet = keyed();
    let mut requests = requests(ACTIVE);
    let mut times = [(); 3].map(|()| Vec::new());
    for _ in 0..SWEEPS {
        let mut cleaned = keyed();
        let handle = cleaned.handle();
        let stale = (0..STALE).map(|key| handle.key(&format!("stale-{key}")));
        let stale: Vec<_> = stale.collect();
        // Each of them has been looked at, and two seconds later none is in use.
        for turn in 0..16 * STALE {
            call(&mut cleaned, &mut requests[turn % ACTIVE]);
        }
        drop(stale);
        thread::sleep(Duration::from_secs(2));
        let before = handle.len();
        let calls = STALE / 4;
        times[0].push(p99(calls, |key| call(&mut gates[key], &mut requests[key])));
        times[1].push(p99(calls, |key| call(&mut quiet, &mut requests[key])));
        times[2].push(p99(calls, |key| call(&mut cleaned, &mut requests[key])));
        let gone = before - handle.len();
        assert!(
            gone >= calls / 64 && handle.len() > ACTIVE,
            "{gone} of {before}"
        );
    }
    let [plain, quiet, cleaning] = times.map(median);
    Slowest {
        plain,
        quiet,
        cleaning,
    }
}

fn p99(calls: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut nanos = Vec::with_capacity(calls);
    // A first round is not counted: after a pause its keys are in no cache.
    (0..ACTIVE).for_each(&mut call);
    for turn in 0..calls {
        let before = clock();
        call(turn % ACTIVE);
        nanos.push((clock() - before).as_nanos() as f64);
    }
    nanos.sort_by(f64::total_cmp);
    nanos[calls * 99 / 100]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn clock() -> Instant {
    Instant::now()
}
