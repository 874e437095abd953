use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use futures_util::FutureExt;
use tidegate_admission::Door;
use tidegate_control::Aimd;
use tidegate_core::{Controller, Setting, Steer, Units, per_second};
use tidegate_feedback::{FeedbackHandle, FeedbackLayer};
use tidegate_gate::GateLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::support::{Classifier, Recorder, by_status, now, request, respond};

/// A loop, and a way to give its law a sample.
struct Trial {
    law: Recorder,
    door: Door,
    handle: FeedbackHandle<Recorder>,
    layer: FeedbackLayer<Classifier, Recorder>,
}

impl Trial {
    fn new(limit: usize) -> Self {
        Self::on(Door::new("gate", 1), limit)
    }

    fn on(door: Door, limit: usize) -> Self {
        let law = Recorder::new(limit);
        let layer = FeedbackLayer::new(by_status as Classifier, law.clone(), door.clone());
        Self {
            law,
            door,
            handle: layer.handle(),
            layer,
        }
    }

    async fn sample(&self) {
        let stack = self
            .layer
            .layer(service_fn(|_| async { Ok::<_, io::Error>(respond(200)) }));
        stack.oneshot(request()).await.unwrap();
    }

    async fn ask(&self, setting: Setting) {
        self.law.ask(setting);
        self.sample().await;
    }
}

#[tokio::test]
async fn the_door_has_the_laws_limit_from_the_start_and_after_each_change() {
    let trial = Trial::new(7);
    assert_eq!(trial.door.limit(), 7);
    trial.ask(Setting::limit(8.9)).await;
    assert_eq!(trial.door.limit(), 8);
    trial.ask(Setting::limit(0.2)).await;
    assert_eq!(trial.door.limit(), 1);
    trial.ask(Setting::limit(f64::INFINITY)).await;
    assert_eq!(trial.door.limit(), Door::MAX_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn a_pace_and_a_pause_of_the_law_reach_the_door() {
    let trial = Trial::new(7);
    let until = now() + 5.s();
    let setting = Setting {
        pace: Some(per_second(20.0)),
        pause_until: Some(until),
        ..Setting::limit(7.0)
    };
    trial.ask(setting).await;
    assert_eq!(trial.door.pace(), Some(per_second(20.0)));
    assert_eq!(trial.door.paused_until(), Some(until));

    trial.ask(Setting::limit(7.0)).await;
    assert_eq!(trial.door.pace(), None);
    assert_eq!(trial.door.paused_until(), Some(until));
}

#[tokio::test]
async fn a_pace_of_the_law_never_exceeds_the_users() {
    let gate = GateLayer::new(1).pace(per_second(50.0).burst(3));
    let trial = Trial::on(gate.handle().into(), 7);
    for (asked, there) in [(80.0, 50.0), (20.0, 20.0)] {
        let setting = Setting {
            pace: Some(per_second(asked).burst(10)),
            ..Setting::limit(7.0)
        };
        trial.ask(setting).await;
        assert_eq!(trial.door.pace(), Some(per_second(there).burst(3)));
    }
    trial.ask(Setting::limit(7.0)).await;
    assert_eq!(trial.door.pace(), Some(per_second(50.0).burst(3)));
}

#[tokio::test]
async fn a_pace_that_is_moved_by_hand_does_not_lift_the_laws() {
    let trial = Trial::new(7);
    let setting = Setting {
        pace: Some(per_second(20.0)),
        ..Setting::limit(7.0)
    };
    trial.ask(setting).await;
    for (own, there) in [
        (Some(per_second(5.0)), 5.0),
        (Some(per_second(50.0)), 20.0),
        (None, 20.0),
    ] {
        trial.handle.set_pace(own);
        assert_eq!(trial.door.pace(), Some(per_second(there)));
    }
    trial.handle.set_pace(Some(per_second(50.0)));
    trial.ask(Setting::limit(7.0)).await;
    assert_eq!(trial.door.pace(), Some(per_second(50.0)));
}

#[tokio::test]
async fn a_limit_that_is_moved_by_hand_is_where_the_law_goes_on_from() {
    let trial = Trial::new(7);
    trial.handle.set_limit(20);
    trial.sample().await;
    assert_eq!(trial.law.heard.lock().unwrap().moves, [20.0]);
    assert_eq!(trial.door.limit(), 20);
    trial.sample().await;
    assert_eq!(trial.law.heard.lock().unwrap().moves, [20.0]);
}

#[tokio::test]
async fn a_frozen_law_learns_nothing_and_goes_on_from_where_the_limit_is() {
    let trial = Trial::new(7);
    trial.handle.freeze();
    assert!(trial.handle.snapshot().frozen);
    trial.handle.set_limit(30);
    trial.ask(Setting::limit(3.0)).await;
    assert!(trial.law.samples().is_empty());
    assert_eq!(trial.door.limit(), 30);

    trial.handle.resume();
    assert_eq!(trial.law.heard.lock().unwrap().moves, [30.0]);
    assert_eq!(trial.door.limit(), 30);
    trial.sample().await;
    assert_eq!(trial.door.limit(), 3);
}

#[tokio::test]
async fn what_is_changed_in_the_law_is_in_force_at_once() {
    let door = Door::new("gate", 1);
    let law = Aimd::new().start(100);
    let handle = FeedbackLayer::new(by_status::<()>, law, door.clone()).handle();
    handle.law(|aimd| *aimd = aimd.clone().max(40));
    assert_eq!(door.limit(), 40);
    handle.freeze();
    handle.law(|aimd| *aimd = aimd.clone().max(30));
    assert_eq!(door.limit(), 40);
    handle.resume();
    assert_eq!(door.limit(), 30);
}

#[test]
fn after_many_threads_the_door_is_where_the_law_is() {
    let door = Door::new("gate", 1);
    let layer = FeedbackLayer::new(by_status, Aimd::new().start(50).step(3.0), door.clone());
    let handle = layer.handle();
    thread::scope(|scope| {
        for thread in 0..8_u16 {
            let layer = layer.clone();
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .unwrap();
                let status = if thread < 4 { 200 } else { 429 };
                let mut stack = layer.layer(service_fn(move |_| async move {
                    Ok::<_, io::Error>(respond(status))
                }));
                runtime.block_on(async {
                    for _ in 0..5_000 {
                        stack.ready().await.unwrap().call(request()).await.unwrap();
                    }
                });
            });
        }
    });
    let asked = handle.law(|law| law.setting().limit);
    assert_eq!(door.limit(), asked as usize);
}

/// Wakes a waiter that asks the law from inside of its waker, and then panics.
struct Nosy(FeedbackHandle<Recorder>);

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {
        self.0.law(|_| ());
        self.0.freeze();
        self.0.resume();
        panic!("as the test asks");
    }
}

#[tokio::test]
async fn a_waker_may_ask_the_law_and_panic() {
    let trial = Trial::new(1);
    let _inside = trial.door.try_acquire(1).unwrap();
    let waker = Waker::from(Arc::new(Nosy(trial.handle.clone())));
    let mut waiting = Box::pin(trial.door.acquire(1));
    assert!(
        waiting
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );

    trial.law.ask(Setting::limit(2.0));
    let sample = AssertUnwindSafe(trial.sample());
    assert!(sample.catch_unwind().await.is_err());
    assert_eq!(trial.door.limit(), 2);
    assert!(matches!(
        waiting
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop())),
        Poll::Ready(Ok(_))
    ));
    trial.ask(Setting::limit(3.0)).await;
    assert_eq!(trial.door.limit(), 3);
}

#[tokio::test]
async fn all_clones_and_all_services_of_a_layer_share_one_law() {
    let law = Recorder::new(10);
    let layer = FeedbackLayer::new(by_status, law.clone(), Door::new("gate", 1));
    let ok = || service_fn(|_| async { Ok::<_, io::Error>(respond(200)) });
    for stack in [layer.clone().layer(ok()), layer.layer(ok()).clone()] {
        ServiceBuilder::new()
            .service(stack)
            .oneshot(request())
            .await
            .unwrap();
    }
    assert_eq!(law.samples().len(), 2);
}
