//! One layer for each key: what is kept, what is forgotten, and what it costs.

#[path = "../support/loopback.rs"]
mod loopback;
#[path = "../support/mod.rs"]
mod support;

mod bounded;
mod crawl_example;
mod eviction;
mod hostile;
mod look_up;
mod memory;
mod programs;
mod quotas;
mod redirects;
mod reloads;
mod scopes;
mod settings;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::FutureExt;
use http::{Request, Response};
use tidegate::{Error, GateLayer, HoldHead, Keyable, KeyedHandle, Pace, Refused, per};
use tokio::time::advance;
use tower::util::ServiceFn;
use tower::{Service, ServiceExt, service_fn};

type Head = Request<()>;
type Answered = Ready<Result<Response<()>, Infallible>>;

fn get(uri: impl AsRef<str>) -> Head {
    Request::get(uri.as_ref()).body(()).unwrap()
}

/// A service that answers at once.
fn echo() -> ServiceFn<fn(Head) -> Answered> {
    service_fn(|_| ready(Ok(Response::new(()))))
}

/// A gate that refuses whoever would have to wait.
fn strict(limit: usize, pace: Pace) -> GateLayer<HoldHead> {
    GateLayer::new(limit)
        .pace(pace)
        .max_wait(Duration::ZERO)
        .hold_head()
}

/// The same, for a hundred at once and without a pace.
fn free() -> GateLayer<HoldHead> {
    GateLayer::new(100).max_wait(Duration::ZERO).hold_head()
}

/// So many at once, and one more each 1,000 seconds.
fn slow(burst: u32) -> Pace {
    per(1.0, Duration::from_secs(1_000)).burst(burst)
}

/// The answer of a stack that is there at once.
fn send<S>(stack: &S, host: &str) -> Result<(), Refused>
where
    S: Service<Head, Response = Response<()>, Error = Error> + Clone,
{
    let request = get(format!("http://{host}"));
    let answer = stack.clone().oneshot(request).now_or_never();
    match answer.expect("it does not wait") {
        Ok(_) => Ok(()),
        Err(error) => Err(error.refused().expect("only a refusal").clone()),
    }
}

/// A host that nobody has asked before.
fn passer_by() -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    format!("passer-by-{}.example", NUMBER.fetch_add(1, Relaxed))
}

/// Looks at every key twice, for hosts of no further use.
fn clean<S, L>(stack: &S, handle: &KeyedHandle<L>)
where
    S: Service<Head, Response = Response<()>, Error = Error> + Clone,
    L: Keyable,
{
    for _ in 0..2 * 64 * (2 + handle.len() / 64) {
        send(stack, &passer_by()).unwrap();
    }
}

/// The same a second later, when what has not been used since may go.
async fn clean_later<S, L>(stack: &S, handle: &KeyedHandle<L>)
where
    S: Service<Head, Response = Response<()>, Error = Error> + Clone,
    L: Keyable,
{
    clean(stack, handle);
    advance(Duration::from_secs(1)).await;
    clean(stack, handle);
}
