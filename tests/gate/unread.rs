//! The warning when those who wait may be the ones who should read.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use futures_util::future::{join, join_all};
use http_body_util::BodyExt;
use tidegate::{GateLayer, Units};
use tidegate_testkit::{Response, Upstream};
use tokio::time::{sleep, timeout};
use tower::{Layer, ServiceExt};
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer as Listener, SubscriberExt};

use crate::get;

/// The warnings of this thread.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn listen() -> (Self, DefaultGuard) {
        let warnings = Self::default();
        let subscriber = tracing_subscriber::registry().with(warnings.clone());
        (warnings, tracing::subscriber::set_default(subscriber))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: Subscriber> Listener<S> for Warnings {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() <= Level::WARN {
            let mut words = Words::default();
            event.record(&mut words);
            self.0.lock().unwrap().push(words.0);
        }
    }
}

#[derive(Default)]
struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

fn upstream() -> Upstream {
    Upstream::unlimited()
        .respond(|_| Response::new(200).chunks(100, "tide ", 500.ms()))
        .start_in_process()
}

#[tokio::test(start_paused = true)]
async fn it_warns_when_every_place_is_held_by_a_body_that_nobody_reads_while_others_wait() {
    let (warnings, _listening) = Warnings::listen();
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let heads = join_all((0..3).map(|_| stack.clone().oneshot(get("/"))));
    assert!(timeout(4_500.ms(), heads).await.is_err());
    // After two seconds, and then once a second.
    let warnings = warnings.take();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(
        warnings[0].contains("by=\"gate\" in_flight=2 waiting=1"),
        "{warnings:?}"
    );
    assert!(warnings[0].contains("read the body in the task that sends the request"));
}

#[tokio::test(start_paused = true)]
async fn it_does_not_warn_while_one_of_the_bodies_is_read() {
    let (warnings, _listening) = Warnings::listen();
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let _unread = stack.clone().oneshot(get("/")).await.unwrap();
    let read = stack
        .clone()
        .oneshot(get("/"))
        .await
        .unwrap()
        .into_body()
        .collect();
    let (read, third) = join(read, stack.oneshot(get("/"))).await;
    assert_eq!(read.unwrap().to_bytes().len(), 500);
    third.unwrap();
    assert_eq!(warnings.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn it_does_not_warn_while_an_answer_is_awaited_or_nobody_waits() {
    let (warnings, _listening) = Warnings::listen();
    let upstream = upstream();
    let gate = GateLayer::new(2);
    let stack = gate.layer(upstream.direct());
    let _unread = stack.clone().oneshot(get("/")).await.unwrap();
    let held = gate.handle().try_acquire().unwrap();
    assert!(
        timeout(10.s(), stack.clone().oneshot(get("/")))
            .await
            .is_err()
    );
    drop(held);
    let _unread_too = stack.oneshot(get("/")).await.unwrap();
    sleep(10.s()).await;
    assert_eq!(warnings.take(), [""; 0]);
}
