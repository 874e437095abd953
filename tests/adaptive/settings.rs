//! The settings of the layers, and what they refuse.

use std::io;
use std::time::Duration;

use futures_util::future::{join, join_all};
use http_body_util::BodyExt;
use tidegate::{
    Error, GateLayer, HttpClassifier, Outcome, Refused, RefusedReason, Units, per_second,
};
use tidegate_testkit::{Fixed, Response, Upstream, most_in};
use tokio::time::sleep;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::ground::{Route, crowd, get, judge};
use crate::history::History;
use crate::strict::Strict;
use crate::support::{assert_free, now};
use crate::{each_law, each_layer};

/// Answers after as long as the request says.
fn work() -> impl Service<Duration, Response = u32, Error = io::Error, Future: Send> + Clone {
    service_fn(async |takes| {
        sleep(takes).await;
        Ok(4)
    })
}

fn refusal(error: &Error) -> Refused {
    error.refused().expect("a refusal").clone()
}

#[tokio::test(start_paused = true)]
async fn who_comes_to_a_full_queue_is_refused_at_once_by_name() {
    each_layer!(Layer, name => {
        let layer = Layer::new(judge).max_queue(1).hold_head();
        let history = History::of(&layer.handle());
        let stack = layer.layer(work());
        let started = now();
        let calls = (0..3).map(|_| async {
            let answer = stack.clone().oneshot(10.ms()).await;
            (now() - started, answer)
        });
        let mut answers = join_all(calls).await;
        let (after, refused) = answers.pop().unwrap();
        assert_eq!(after, Duration::ZERO);
        let words = format!("refused by {name}, nothing was sent: the queue is full (1 may wait)");
        assert_eq!(refused.unwrap_err().to_string(), words);
        // Our own refusal is no sample.
        assert_eq!(history.outcomes(), [Outcome::Success; 2]);
    });
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_refused_to_the_millisecond() {
    each_layer!(Layer, name => {
        let layer = Layer::new(judge).max_wait(30.ms()).hold_head();
        let history = History::of(&layer.handle());
        let stack = layer.layer(work());
        let started = now();
        let late = async {
            let refused = refusal(&stack.clone().oneshot(10.ms()).await.unwrap_err());
            (now() - started, refused)
        };
        let (served, (after, refused)) = join(stack.clone().oneshot(100.ms()), late).await;
        served.unwrap();
        let reason = RefusedReason::WaitedTooLong { max_wait: 30.ms() };
        assert_eq!((after, refused), (30.ms(), Refused::new(name, reason)));
        assert_eq!(history.outcomes(), [Outcome::Success]);
        assert_eq!((layer.handle().in_flight(), layer.handle().waiting()), (0, 0));
    });
}

#[tokio::test(start_paused = true)]
async fn once_closed_all_that_wait_are_refused_and_those_inside_are_sampled() {
    each_layer!(Layer, name => {
        let layer = Layer::new(judge).hold_head();
        let (handle, history) = (layer.handle(), History::of(&layer.handle()));
        let stack = layer.layer(work());
        let close = async {
            sleep(5.ms()).await;
            handle.close();
        };
        let calls = join_all((0..3).map(|_| stack.clone().oneshot(10.ms())));
        let (answers, ()) = join(calls, close).await;
        let mut answers = answers.into_iter();
        assert_eq!(answers.next().unwrap().unwrap(), 4);
        for answer in answers {
            let expected = Refused::new(name, RefusedReason::Closed);
            assert_eq!(refusal(&answer.unwrap_err()), expected);
        }
        assert_eq!(history.outcomes(), [Outcome::Success]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_layer_below_is_no_sample() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(judge).hold_head();
        let history = History::of(&layer.handle());
        let below = GateLayer::new(1).hold_head();
        below.handle().close();
        let stack = layer.layer(below.layer(Strict::default()));
        let error = stack.oneshot("tide".to_owned()).await.unwrap_err();
        assert_eq!(refusal(&error).by, "gate");
        assert!(history.outcomes().is_empty());
        assert_free(&layer.handle(), 1);
    });
}

/// The head comes at once, the body's end after 10 s.
fn streaming() -> Upstream {
    Upstream::unlimited()
        .respond(|_| Response::new(200).chunks(11, "tide ", 1.s()))
        .start_in_process()
}

/// When the second of two requests arrived.
macro_rules! second_after {
    ($layer:expr) => {{
        let upstream = streaming();
        let layer = $layer;
        let handle = layer.handle();
        let stack = layer.layer(upstream.direct());
        let read = || async {
            let response = stack.clone().oneshot(get("/")).await.unwrap();
            response.into_body().collect().await.unwrap();
        };
        join(read(), read()).await;
        assert_eq!((handle.in_flight(), handle.waiting()), (0, 0));
        upstream.arrivals()[1].at
    }};
}

#[tokio::test(start_paused = true)]
async fn a_place_is_held_as_long_as_the_layer_says() {
    each_layer!(Layer, _name => {
        let layer = || Layer::new(HttpClassifier::default()).max(1);
        assert_eq!(second_after!(layer()), 10.s());
        assert_eq!(second_after!(layer().hold_head()), Duration::ZERO);
        assert_eq!(second_after!(layer().hold_body_max(3.s())), 3.s());
    });
}

#[tokio::test(start_paused = true)]
async fn the_limit_starts_where_it_is_told_to_and_keeps_within_its_bounds() {
    each_layer!(Layer, _name => {
        let limit = |layer: Layer<_>| layer.handle().limit();
        let layer = || Layer::new(judge as fn(tidegate::Answer<'_, u32>) -> Outcome);
        assert_eq!(limit(layer()), 1);
        assert_eq!(limit(layer().start(20)), 20);
        assert_eq!(limit(layer().min(5)), 5);
        assert_eq!(limit(layer().start(20).max(7)), 7);
    });
}

/// The upstream lets 200 a second through, and the law finds that.
#[tokio::test(start_paused = true)]
async fn a_pace_of_the_law_is_never_faster_than_the_users() {
    each_law!(new => {
        let upstream = Upstream::unlimited()
            .rate(200.0, 20)
            .retry_after()
            .service_time(Fixed(20.ms()))
            .start_in_process();
        let route = Route::to(&upstream, 2.ms());
        let layer = new().pace(per_second(100.0).burst(5));
        crowd(64, &layer.layer(route.clone()), 10.s()).await;
        assert!(upstream.most_arrivals_in(1.s()) <= 105);
        assert_eq!(upstream.report().limited, 0);

        let layer = new();
        let handle = layer.handle();
        crowd(64, &layer.layer(route.clone()), 10.s()).await;
        let found = handle.pace().expect("a pace of the law");
        assert!((80.0..220.0).contains(&found.rate()), "{found:?}");

        handle.set_pace(Some(per_second(50.0)));
        let before = upstream.arrivals().len();
        crowd(64, &layer.layer(route), 10.s()).await;
        let since: Vec<_> = upstream.arrivals()[before..]
            .iter()
            .map(|arrival| arrival.at)
            .collect();
        assert!(most_in(1.s(), since) <= 51);
    });
}

#[test]
fn it_is_built_and_dropped_without_a_runtime() {
    each_layer!(Layer, _name => {
        let layer = Layer::new(HttpClassifier::default()).pace(per_second(1.0)).max_wait(1.s());
        let stack = layer.layer(crate::loopback::reqwest_client().build().unwrap());
        let request = reqwest::Request::new(http::Method::GET, "http://a.test/".parse().unwrap());
        let unsent = stack.clone().oneshot(request);
        drop((stack, layer));
        drop(unsent);
    });
}

#[tokio::test(start_paused = true)]
async fn where_all_is_404_the_limit_stays_at_1_unless_that_is_called_a_success() {
    let told = HttpClassifier::default().status(404, Outcome::Success);
    for (classifier, grown) in [(HttpClassifier::default(), false), (told, true)] {
        each_layer!(Layer, name => {
            let layer = Layer::new(classifier.clone());
            let service = layer.layer(service_fn(|_: http::Request<()>| async {
                sleep(20.ms()).await;
                http::Response::builder().status(404).body(String::from("not found"))
            }));
            for _ in 0..20 {
                let calls = (0..8).map(|_| async {
                    let answer = service.clone().oneshot(http::Request::new(())).await;
                    answer.unwrap().into_body().collect().await
                });
                join_all(calls).await;
            }
            assert_eq!(layer.handle().limit() > 1, grown, "{name}");
        });
    }
}
