//! The contract of `Service`, clause by clause, and what the law hears of each.

use std::io;
use std::pin::pin;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{Ready, join_all};
use http::Response;
use http_body_util::Full;
use tidegate::{Cause, Error, HttpClassifier, Outcome, Steer, Units, per_hour, per_minute};
use tokio::time::{sleep, timeout};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::each_layer;
use crate::ground::{Get, get, judge};
use crate::history::History;
use crate::strict::{Strict, StrictError};
use crate::support::{assert_free, now};

const TIDE: &str = "tide";

#[tokio::test(start_paused = true)]
async fn only_an_instance_that_has_been_ready_is_called_and_each_call_is_one_sample() {
    each_layer!(Layer, name => {
        let layer = Layer::new(judge).min(3).max(3).hold_head();
        let history = History::of(&layer.handle());
        let service = layer.layer(Strict::default());
        let calls = (0..10).map(|_| service.clone().oneshot(TIDE.to_owned()));
        for answer in join_all(calls).await {
            assert_eq!(answer.unwrap(), 4, "{name}");
        }
        let mut front = service;
        for _ in 0..3 {
            let answer = front.ready().await.unwrap().call("ebb".to_owned()).await;
            assert_eq!(answer.unwrap(), 3);
        }
        assert_eq!(history.outcomes(), [Outcome::Success; 13]);
        assert_free(&layer.handle(), 3);
    });
}

#[tokio::test(start_paused = true)]
async fn a_layer_is_ready_when_it_is_full_and_when_the_service_below_is_not() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let strict = Strict::default();
        let mut service = layer.layer(strict.clone());
        let _inside = layer.handle().try_acquire(1).unwrap();
        strict.break_readiness(true);
        assert!(matches!(service.ready().now_or_never(), Some(Ok(_))));
    });
}

#[tokio::test(start_paused = true)]
async fn no_readiness_gives_permit_and_token_back_and_is_no_sample() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).pace(per_hour(1.0)).hold_head();
        let history = History::of(&layer.handle());
        let strict = Strict::default();
        let service = layer.layer(strict.clone());
        strict.break_readiness(true);
        let mut kept = Box::pin(service.clone().oneshot(TIDE.to_owned()));
        let error = kept.as_mut().await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::NotReady));
        assert_eq!(strict.calls(), 0);
        strict.break_readiness(false);

        let started = now();
        assert_eq!(service.oneshot(TIDE.to_owned()).await.unwrap(), 4);
        assert_eq!(now() - started, 10.ms());
        assert_eq!(history.outcomes(), [Outcome::Success]);
        drop(kept);
        assert_eq!(layer.handle().in_flight(), 0);
    });
}

#[tokio::test(start_paused = true)]
async fn a_future_that_was_not_polled_holds_nothing_and_is_no_sample() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).min(3).hold_head();
        let history = History::of(&layer.handle());
        let strict = Strict::default();
        let mut service = layer.layer(strict.clone());
        let futures: Vec<_> = (0..10).map(|_| service.call(TIDE.to_owned())).collect();
        assert_free(&layer.handle(), 3);
        drop(futures);
        assert_free(&layer.handle(), 3);
        assert_eq!((strict.calls(), history.outcomes().len()), (0, 0));
    });
}

#[tokio::test(start_paused = true)]
async fn clones_and_services_of_clones_share_one_door_and_one_law() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).min(2).max(2).hold_head();
        let history = History::of(&layer.clone().handle());
        let (one, other) = (layer.layer(Strict::default()), layer.clone().layer(Strict::default()));
        let started = now();
        let services = [one.clone(), one, other.clone(), other];
        join_all(services.map(|service| service.oneshot(TIDE.to_owned()))).await;
        assert_eq!(now() - started, 20.ms());
        assert_eq!(history.outcomes(), [Outcome::Success; 4]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_leaves_its_turn_to_the_next_and_is_no_sample() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let service = layer.layer(Strict::default());
        let send = || service.clone().oneshot(TIDE.to_owned());
        let inside = handle.try_acquire(1).unwrap();
        let mut dropped = Box::pin(send());
        let mut granted = Box::pin(send());
        let mut next = pin!(send());
        assert!(dropped.as_mut().now_or_never().is_none());
        assert!(granted.as_mut().now_or_never().is_none());
        assert!(next.as_mut().now_or_never().is_none());
        drop(dropped);
        assert_eq!(handle.waiting(), 2);
        drop(inside);
        // Its turn has come, and it is dropped before it is polled.
        drop(granted);
        assert_eq!(next.await.unwrap(), 4);
        assert_eq!(history.outcomes(), [Outcome::Success]);
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
    });
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_before_it_was_sent_gives_all_back_and_is_no_sample() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).pace(per_hour(1.0)).hold_head();
        let history = History::of(&layer.handle());
        let strict = Strict::default();
        let service = layer.layer(strict.clone());
        let mut dropped = Box::pin(service.clone().oneshot(TIDE.to_owned()));
        assert!(dropped.as_mut().now_or_never().is_none());
        assert_eq!((layer.handle().in_flight(), strict.calls()), (1, 0));
        drop(dropped);
        assert!(history.outcomes().is_empty());

        let started = now();
        assert_eq!(service.oneshot(TIDE.to_owned()).await.unwrap(), 4);
        assert_eq!(now() - started, 10.ms());
    });
}

/// The usual time is 10 ms.
#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_in_flight_is_ignored_if_early_and_a_timeout_if_late() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let service = layer.layer(service_fn(async |takes| {
            sleep(takes).await;
            Ok::<_, io::Error>(4)
        }));
        service.clone().oneshot(10.ms()).await.unwrap();
        for after in [19.ms(), 21.ms()] {
            assert!(timeout(after, service.clone().oneshot(1.s())).await.is_err());
            assert_eq!(handle.in_flight(), 0);
        }
        let late = Outcome::Overload(Cause::TimedOut);
        assert_eq!(history.outcomes(), [Outcome::Success, Outcome::Ignored, late]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_used_is_spent_though_its_future_is_dropped() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).pace(per_minute(1.0)).hold_head();
        let service = layer.layer(Strict::default());
        let started = now();
        assert!(timeout(5.ms(), service.clone().oneshot(TIDE.to_owned())).await.is_err());
        service.oneshot(TIDE.to_owned()).await.unwrap();
        assert_eq!(now() - started, 60.s() + 10.ms());
    });
}

#[tokio::test(start_paused = true)]
async fn a_place_is_held_to_the_end_of_the_body_and_the_law_hears_the_head() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(HttpClassifier::default());
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let service = layer.layer(service_fn(async |request: Get| {
            let body = if request.uri().path() == "/" { TIDE } else { "" };
            Ok::<_, io::Error>(Response::new(Full::<Bytes>::from(body)))
        }));
        let (_, body) = service.clone().oneshot(get("/")).await.unwrap().into_parts();
        assert_eq!(history.outcomes(), [Outcome::Success]);
        assert_eq!(handle.in_flight(), 1);
        drop(body);
        assert_eq!(handle.in_flight(), 0);
        // No body, no need to drop it.
        let response = service.oneshot(get("/none")).await.unwrap();
        assert_eq!(handle.in_flight(), 0);
        drop(response);
        assert_eq!(history.outcomes(), [Outcome::Success; 2]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_frees_its_place_and_is_ignored() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let history = History::of(&layer.handle());
        let at_once = layer.layer(service_fn(|()| -> Ready<io::Result<u32>> { panic!("in call") }));
        let in_time = layer.layer(service_fn(async |()| -> io::Result<u32> {
            sleep(10.ms()).await;
            panic!("in the future")
        }));
        assert!(tokio::spawn(at_once.oneshot(())).await.unwrap_err().is_panic());
        assert_free(&layer.handle(), 1);
        assert!(tokio::spawn(in_time.oneshot(())).await.unwrap_err().is_panic());
        assert_free(&layer.handle(), 1);
        assert_eq!(history.outcomes(), [Outcome::Ignored; 2]);
    });
}

#[tokio::test(start_paused = true)]
async fn the_services_error_is_found_and_says_what_it_said() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let history = History::of(&layer.handle());
        let strict = Strict::ready_at_once();
        strict.fail_next_calls(1);
        let error = layer.layer(strict).oneshot(TIDE.to_owned()).await.unwrap_err();
        assert_eq!(error.find(), Some(&StrictError::Failed));
        assert_eq!(error.to_string(), "it failed");
        assert!(error.refused().is_none());
        assert_eq!(history.outcomes(), [Outcome::Overload(Cause::Connection)]);
    });
}

/// Whether it can be kept, cloned and called from any task.
fn assert_stack<R, S>(_: &S)
where
    S: Service<R, Error = Error, Future: Send> + Clone + Send + Sync + 'static,
{
}

#[tokio::test]
async fn stacks_are_clone_send_and_sync_and_their_futures_send() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(HttpClassifier::default());
        let executor = hyper_util::rt::TokioExecutor::new();
        let hyper = hyper_util::client::legacy::Client::builder(executor).build_http();
        assert_stack::<Get, _>(&layer.layer(hyper.clone()));
        assert_stack::<Get, _>(&layer.clone().hold_head().layer(hyper.clone()));
        assert_stack::<Get, _>(&layer.clone().hold_body_max(1.s()).layer(hyper));
        let reqwest = crate::loopback::reqwest_client().build().unwrap();
        assert_stack::<reqwest::Request, _>(&layer.layer(reqwest));
        let steer: Box<dyn Steer> = Box::new(layer.handle());
        assert_eq!(steer.snapshot().limit, 1);
    });
}
