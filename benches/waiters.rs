//! One million requests that wait behind one: bytes for each, and how long they take to drain, beside
//! tower's `ConcurrencyLimit`. See `target/tidegate/waiters.json` for the figures.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use http_body_util::Empty;
use serde_json::json;
use tidegate::GateLayer;
use tower::limit::ConcurrencyLimitLayer;
use tower::{Layer, Service, ServiceExt};

const WAITERS: usize = 1_000_000;
const ROUNDS: usize = 3;

fn main() {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(tidegate_gate());
        theirs.push(tower_limit());
    }
    let rows = [
        ("tidegate gate", &ours),
        ("tower ConcurrencyLimit", &theirs),
    ]
    .map(|(subject, rounds)| {
        let ms = median(
            rounds
                .iter()
                .map(|round| round.drain.as_secs_f64() * 1e3)
                .collect(),
        );
        let bytes = rounds[0].bytes as f64 / WAITERS as f64;
        println!("{subject:<24} {bytes:>7.1} bytes a waiter, {ms:>7.1} ms to drain");
        json!({ "subject": subject, "waiters": WAITERS, "bytes": bytes, "drain_ms": ms })
    });
    let ratios = ours
        .iter()
        .zip(&theirs)
        .map(|(ours, theirs)| ours.drain.div_duration_f64(theirs.drain));
    println!("drained in {:.2} of tower's time", median(ratios.collect()));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tidegate");
    std::fs::create_dir_all(folder).expect("the target folder can be written");
    let text = serde_json::to_string_pretty(&rows).expect("numbers and names are JSON");
    std::fs::write(format!("{folder}/waiters.json"), text)
        .expect("the target folder can be written");
}

struct Round {
    /// Future and heap; the request and the inner service take none.
    bytes: u64,
    drain: Duration,
}

/// A service without a size, like its request.
#[derive(Clone)]
struct Inner;

impl Service<()> for Inner {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        Answer
    }
}

/// A future without a size, too.
struct Answer;

impl Future for Answer {
    type Output = Result<Response<Empty<Bytes>>, Infallible>;

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(Response::new(Empty::new())))
    }
}

fn tidegate_gate() -> Round {
    let layer = GateLayer::new(1);
    let inside = layer.handle().try_acquire().expect("the gate is empty");
    let mut gate = layer.layer(Inner);
    round(|| gate.call(()), inside)
}

fn tower_limit() -> Round {
    let mut limit = ConcurrencyLimitLayer::new(1).layer(Inner);
    let mut context = Context::from_waker(Waker::noop());
    let ready = limit.poll_ready(&mut context);
    assert!(ready.is_ready(), "the limit is not reached");
    let waiting = limit.clone();
    round(|| waiting.clone().oneshot(()), limit)
}

/// Has them all wait, then lets go of the place that is held and takes each answer in turn.
fn round<F: Future<Output: IsOk>>(mut call: impl FnMut() -> F, inside: impl Sized) -> Round {
    let mut waiting: Vec<Pin<Box<F>>> = Vec::with_capacity(WAITERS);
    let mut context = Context::from_waker(Waker::noop());
    let counted = allocation_counter::measure(|| {
        for _ in 0..WAITERS {
            let mut future = Box::pin(call());
            assert!(
                future.as_mut().poll(&mut context).is_pending(),
                "there is no room"
            );
            waiting.push(future);
        }
    });
    drop(inside);
    let started = now();
    for mut future in waiting {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(answer) => assert!(answer.is_ok(), "nobody is refused"),
            Poll::Pending => panic!("whoever comes in turn is served"),
        }
    }
    Round {
        bytes: u64::try_from(counted.bytes_current).expect("more is allocated than freed"),
        drain: now() - started,
    }
}

trait IsOk {
    fn is_ok(&self) -> bool;
}

impl<T, E> IsOk for Result<T, E> {
    fn is_ok(&self) -> bool {
        self.is_ok()
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
