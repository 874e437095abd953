//! What it costs where nobody listens: a program of its own, since one thread that listens changes what
//! is made ready for all.

#[expect(dead_code, reason = "the other tests read what was heard")]
#[path = "tracing/heard.rs"]
mod heard;

use std::future::{Ready, ready};
use std::sync::{Mutex, MutexGuard, PoisonError};

use allocation_counter::measure;
use futures_util::FutureExt;
use http::{Request, Response};
use tidegate_core::{Change, Observer as _, Outcome, Reason, Sample, Setting, Units};
use tidegate_tracing::{Events, SpanLayer};
use tokio::time::Instant;
use tower::{Layer, Service, service_fn};

use crate::heard::Heard;

#[expect(clippy::disallowed_methods, reason = "any moment will do")]
fn now() -> Instant {
    Instant::now()
}

/// One test after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

type Answer = Ready<Result<Response<()>, tidegate_core::Error>>;

#[test]
fn a_span_to_which_nobody_listens_allocates_nothing() {
    let _alone = alone();
    let echo = service_fn(|_: Request<()>| -> Answer { ready(Ok(Response::new(()))) });
    let mut stack = SpanLayer::new().name("users").layer(echo);
    let mut send = || {
        let request = Request::get("https://api.example/").body(()).unwrap();
        let mut response = |request| stack.call(request).now_or_never().unwrap().unwrap();
        measure(|| drop(response(request))).count_total
    };
    assert_eq!((send(), send()), (0, 0));
    let (_heard, _listening) = Heard::listen();
    assert_ne!(send(), 0);
}

#[test]
fn events_to_which_nobody_listens_allocate_nothing() {
    let _alone = alone();
    let events = Events::new("users").key("a.example");
    let at = now().into_std();
    let sample = Sample {
        started: at,
        latency: None,
        in_flight_at_start: 1,
        in_flight: 1,
        outcome: Outcome::Failure,
        retry_after: None,
    };
    let change = Change {
        from: Setting::limit(1.0),
        to: Setting::limit(2.0),
        reason: Reason::Starting,
    };
    let say = || {
        events.on_sample(at, &sample);
        events.on_change(at, &change);
        events.on_wait(at, 1.s());
        events.on_retry(at, 2, 1.s());
        events.on_gave_up(at, "budget", 2);
    };
    assert_eq!(measure(say).count_total, 0);
    let (_heard, _listening) = Heard::listen();
    assert_ne!(measure(say).count_total, 0);
}
