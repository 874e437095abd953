//! What a layer costs a request, as a ratio to tower's `ConcurrencyLimit`.
//!
//! Every subject runs beside tower's in the same process and the same round, in turn, in windows of
//! about 5 ms; the medians over several processes of the paired differences and ratios are what is
//! reported. What a report and metrics cost is beside the same stack without them. See
//! `target/tidegate/overhead.json` for the figures.

use std::convert::Infallible;
use std::future::ready;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fmt, io};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Empty;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use tidegate::{
    Aimd, Answer, Cause, FeedbackLayer, GateLayer, GovernorLayer, Metrics, Outcome, Pace,
    RateLayer, Report, per_second,
};
use tokio::runtime::{Builder, Handle, Id, Runtime};
use tower::buffer::Buffer;
use tower::limit::rate::Rate;
use tower::limit::{ConcurrencyLimitLayer, RateLimit};
use tower::{Layer, Service, ServiceExt, service_fn};

const PROCESSES: usize = 5;
const WINDOWS: usize = 20;
const WINDOW: Duration = Duration::from_millis(5);
const TASKS: usize = 64;
const MODES: [&str; 4] = ["uncontended", "cloned", "contended", "saturated"];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--child") {
        println!("{}", Value::from(measure_all()));
        return;
    }
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for _ in 0..PROCESSES {
        let output = Command::new(&arguments[0])
            .arg("--child")
            .output()
            .expect("this program can be run again");
        let printed: Value = serde_json::from_slice(&output.stdout).expect("a child prints JSON");
        rows.push(printed.as_array().expect("an array of rows").clone());
    }
    let table = summary(&rows);
    for row in &table {
        println!(
            "{:<24} {:<12} {:>8.1} ns {:>+8.1} {:>7.3} {:>4} allocations",
            row["subject"].as_str().unwrap_or_default(),
            row["mode"].as_str().unwrap_or_default(),
            row["ns"].as_f64().unwrap_or_default(),
            row["extra"].as_f64().unwrap_or_default(),
            row["ratio"].as_f64().unwrap_or_default(),
            row["allocations"],
        );
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tidegate");
    std::fs::create_dir_all(folder).expect("the target folder can be written");
    let file = format!("{folder}/overhead.json");
    let text = serde_json::to_string_pretty(&table).expect("numbers and names are JSON");
    std::fs::write(&file, text).expect("the target folder can be written");
}

/// Medians over the processes, row by row.
fn summary(processes: &[Vec<Value>]) -> Vec<Value> {
    let median_of = |row: usize, key: &str| {
        median(
            processes
                .iter()
                .map(|rows| rows[row][key].as_f64().unwrap_or(f64::NAN))
                .collect(),
        )
    };
    (0..processes[0].len())
        .map(|row| {
            let first = &processes[0][row];
            json!({
                "subject": first["subject"],
                "mode": first["mode"],
                "ns": median_of(row, "ns"),
                "extra": median_of(row, "extra"),
                "ratio": median_of(row, "ratio"),
                "allocations": first["allocations"],
            })
        })
        .collect()
}

/// One row per subject and mode.
fn measure_all() -> Vec<Value> {
    let mut rows = Vec::new();
    for mode in MODES {
        let limit = if mode == "saturated" { 8 } else { 100 };
        let inner = || inner(mode == "saturated");
        let tower = ConcurrencyLimitLayer::new(limit).layer(inner());
        let gate = GateLayer::new(limit).layer(inner());
        let endless = per_second(1e9).burst(u32::MAX);
        let paced = GateLayer::new(limit).pace(endless).layer(inner());
        rows.push(pair("bare", mode, &inner(), &tower));
        rows.push(pair("tower ConcurrencyLimit", mode, &tower.clone(), &tower));
        rows.push(pair("tidegate gate", mode, &gate, &tower));
        rows.push(pair("tidegate gate+pace", mode, &paced, &tower));
        let observed = GateLayer::new(limit);
        let law = Aimd::new().start(limit).min(limit).max(limit);
        let feedback = FeedbackLayer::new(by_status, law, observed.handle());
        let aimd = observed.layer(feedback.layer(inner()));
        rows.push(pair("tidegate aimd", mode, &aimd, &tower));
    }
    let tower = ConcurrencyLimitLayer::new(100).layer(inner(false));
    rows.push(pair(
        "governor check",
        "uncontended",
        &governor_check(),
        &tower,
    ));
    let layer = RateLayer::new(endless()).layer(inner(false));
    let governed = governor_layer();
    let buffered = tower_buffer_and_rate();
    rows.push(pair("tidegate rate", "uncontended", &rate_check(), &tower));
    rows.push(pair("tidegate rate layer", "uncontended", &layer, &tower));
    rows.push(pair("governor layer", "uncontended", &governed, &tower));
    rows.push(pair(
        "tower Buffer+RateLimit",
        "uncontended",
        &buffered,
        &tower,
    ));
    rows.extend(measure_observed());
    rows
}

/// What hears a stack, beside the same one unheard, rather than beside tower's limit.
fn measure_observed() -> Vec<Value> {
    PrometheusBuilder::new()
        .with_recommended_naming(true)
        .install_recorder()
        .expect("nobody else has installed one");
    let metrics = Metrics::new("bench");
    let governor = || GovernorLayer::new(by_status).min(100).max(100).start(100);
    let off = governor().layer(inner(false));
    let watched = governor();
    metrics.attach(&watched.handle());
    let watched = watched.layer(inner(false));
    let keyed = governor();
    metrics.key("example.com").attach(&keyed.handle());
    let keyed = keyed.layer(inner(false));
    let reported = governor();
    let _report = Report::attach(&reported.handle());
    let reported = reported.layer(inner(false));
    let mut rows = Vec::new();
    for mode in ["uncontended", "cloned", "contended"] {
        rows.push(pair("governor, off", mode, &off.clone(), &off));
        rows.push(pair("governor, report", mode, &reported, &off));
        rows.push(pair("governor, metrics", mode, &watched, &off));
        rows.push(pair("governor, metrics of key", mode, &keyed, &off));
    }
    let bare = with_requests(inner_of_requests());
    let measured = with_requests(metrics.requests().layer(inner_of_requests()));
    rows.push(pair("requests measured", "uncontended", &measured, &bare));
    let by_hand = with_requests(measured_by_hand(inner_of_requests()));
    rows.push(pair("requests, by hand", "uncontended", &by_hand, &bare));
    let one_handle = with_requests(measured_without_labels(inner_of_requests()));
    rows.push(pair(
        "requests, one handle",
        "uncontended",
        &one_handle,
        &bare,
    ));
    rows
}

/// As one would write it: labels are made, and the recorder looks for them, at each request.
fn measured_by_hand(inner: impl Inner) -> impl Inner {
    service_fn(move |request: Request<()>| {
        let mut inner = inner.clone();
        async move {
            let method = request.method().to_string();
            let host = request.uri().host().unwrap_or_default().to_owned();
            let port = request.uri().port_u16().unwrap_or(80).to_string();
            let started = now();
            let response = inner.call(request).await?;
            let took = now() - started;
            metrics::histogram!(
                "by_hand.request.duration",
                "http.request.method" => method,
                "server.address" => host,
                "server.port" => port,
                "http.response.status_code" => response.status().as_u16().to_string(),
            )
            .record(took);
            Ok(response)
        }
    })
}

/// What cannot be saved: two clock readings and one recorded duration, all in one series.
fn measured_without_labels(inner: impl Inner) -> impl Inner {
    let histogram = metrics::histogram!("one_handle.request.duration");
    service_fn(move |request: Request<()>| {
        let (mut inner, histogram) = (inner.clone(), histogram.clone());
        async move {
            let started = now();
            let response = inner.call(request).await?;
            histogram.record(now() - started);
            Ok(response)
        }
    })
}

/// Sends it a request to the same host each time.
fn with_requests(
    service: impl Service<Request<()>, Response: Send, Error: fmt::Debug + Send, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static,
) -> impl Subject {
    let uri = Uri::from_static("http://example.com/");
    service_fn(move |()| {
        let mut request = Request::new(());
        request.uri_mut().clone_from(&uri);
        service.clone().call(request)
    })
}

/// Of requests.
trait Inner:
    Service<Request<()>, Response = Response<Empty<Bytes>>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Inner for S where
    S: Service<Request<()>, Response = Response<Empty<Bytes>>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Always ready, with an empty body.
fn inner_of_requests() -> impl Inner {
    service_fn(|_: Request<()>| ready(Ok(Response::new(Empty::new()))))
}

fn endless() -> Pace {
    per_second(1e9).burst(u32::MAX)
}

/// The check alone, as of governor.
fn rate_check() -> impl Subject {
    let rate = RateLayer::new(endless()).handle();
    service_fn(move |()| ready(rate.try_acquire(1).map_err(|_| io::Error::other("not now"))))
}

/// governor's check before a service, as one would write it.
fn governor_layer() -> impl Subject {
    let limiter = governor_limiter();
    let inner = inner(false);
    service_fn(move |()| {
        let (limiter, mut inner) = (Arc::clone(&limiter), inner.clone());
        async move {
            if limiter.check().is_err() {
                return Err(io::Error::other("not now"));
            }
            inner.call(()).await.map_err(|never| match never {})
        }
    })
}

/// tower's own way, whose limit cannot be cloned without a task that owns it.
fn tower_buffer_and_rate() -> impl Subject {
    type Buffered = Buffer<(), BoxFuture<'static, Result<Response<Empty<Bytes>>, Infallible>>>;
    let one: Arc<Mutex<Option<(Id, Buffered)>>> = Arc::default();
    service_fn(move |()| {
        let here = Handle::current().id();
        let mut one = one.lock().expect("nobody panics with it");
        if one.as_ref().is_none_or(|(id, _)| *id != here) {
            let boxed = service_fn(|()| async { Ok(Response::new(Empty::new())) }.boxed());
            let limited = RateLimit::new(boxed, Rate::new(u64::MAX, Duration::from_secs(1)));
            *one = Some((here, Buffer::new(limited, 16)));
        }
        let buffered = one.as_ref().map(|(_, buffered)| buffered.clone());
        buffered.expect("made above").oneshot(()).boxed()
    })
}

/// An always ready service with an empty body; it yields once where permits are to run out.
fn inner(yields: bool) -> impl Subject<Response = Response<Empty<Bytes>>, Error = Infallible> {
    service_fn(move |()| async move {
        if yields {
            tokio::task::yield_now().await;
        }
        Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
    })
}

fn by_status(answer: Answer<'_, Response<Empty<Bytes>>>) -> Outcome {
    match answer.map(Response::status) {
        Ok(StatusCode::TOO_MANY_REQUESTS) => Outcome::Overload(Cause::Throttled),
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}

/// The check alone, without a service behind it.
fn governor_check() -> impl Subject {
    let limiter = governor_limiter();
    service_fn(move |()| ready(limiter.check().map_err(|_| io::Error::other("not now"))))
}

fn governor_limiter() -> Arc<DirectRateLimiter> {
    let quota = Quota::per_second(NonZeroU32::MAX).allow_burst(NonZeroU32::MAX);
    Arc::new(RateLimiter::direct_with_clock(quota, TokioClock))
}

type DirectRateLimiter = RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Instant>>;

/// The clock that tidegate reads.
#[derive(Clone)]
struct TokioClock;

impl governor::clock::Clock for TokioClock {
    type Instant = Instant;

    fn now(&self) -> Instant {
        now()
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// What is measured.
trait Subject:
    Service<(), Response: Send, Error: fmt::Debug + Send, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<S> Subject for S where
    S: Service<(), Response: Send, Error: fmt::Debug + Send, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Windows of the subject and of tower's limit in turn.
fn pair(name: &str, mode: &str, subject: &impl Subject, tower: &impl Subject) -> Value {
    let runtime = match mode {
        "uncontended" | "cloned" => Builder::new_current_thread().enable_time().build(),
        _ => Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build(),
    }
    .expect("a runtime can be built");
    let calls = calls_in(WINDOW, &runtime, mode, tower);
    let (mut ns, mut extra, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..WINDOWS {
        let ours = window(&runtime, mode, subject, calls);
        let theirs = window(&runtime, mode, tower, calls);
        ns.push(ours);
        extra.push(ours - theirs);
        ratios.push(ours / theirs);
    }
    json!({
        "subject": name,
        "mode": mode,
        "ns": median(ns),
        "extra": median(extra),
        "ratio": median(ratios),
        "allocations": allocations(subject),
    })
}

/// How many calls per task fill a window.
fn calls_in(window_length: Duration, runtime: &Runtime, mode: &str, tower: &impl Subject) -> u32 {
    let few = 100;
    window(runtime, mode, tower, few);
    let ns = window(runtime, mode, tower, few) * tasks(mode) as f64;
    (window_length.as_nanos() as f64 / ns).ceil() as u32
}

fn tasks(mode: &str) -> usize {
    if mode == "uncontended" || mode == "cloned" {
        1
    } else {
        TASKS
    }
}

/// Nanoseconds per call.
fn window(runtime: &Runtime, mode: &str, service: &impl Subject, calls: u32) -> f64 {
    let cloned = mode == "cloned";
    let started = now();
    if tasks(mode) == 1 {
        runtime.block_on(drive(service.clone(), cloned, calls));
    } else {
        runtime.block_on(async {
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| tokio::spawn(drive(service.clone(), cloned, calls)))
                .collect();
            for task in tasks {
                task.await.expect("no call panics");
            }
        });
    }
    let elapsed = now() - started;
    elapsed.as_nanos() as f64 / (tasks(mode) as f64 * f64::from(calls))
}

async fn drive<S: Subject>(mut service: S, cloned: bool, calls: u32) {
    for _ in 0..calls {
        let answer = if cloned {
            service.clone().oneshot(()).await
        } else {
            match service.ready().await {
                Ok(ready) => ready.call(()).await,
                Err(error) => Err(error),
            }
        };
        drop(black_box(answer.expect("no call fails")));
    }
}

/// Allocations per call that does not wait.
fn allocations(service: &impl Subject) -> u64 {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime can be built");
    runtime.block_on(drive(service.clone(), false, 1));
    let calls = 100;
    let counted = allocation_counter::measure(|| {
        runtime.block_on(drive(service.clone(), false, calls));
    });
    counted.count_total / u64::from(calls)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
