//! Upstreams that change while they are used: the limit follows, and says why.
//!
//! 16 workers of 20 ms, 10 ms away: with 24 in flight all of them work.

use std::sync::Arc;

use futures_util::future::join;
use http::Response;
use tidegate::{Error, Steer, Units};
use tidegate_testkit::{Exponential, Upstream, UpstreamBuilder};
use tokio::time::sleep;
use tower::timeout::{Timeout, TimeoutLayer};
use tower::{Layer, Service};

use crate::each_law;
use crate::ground::{Get, Route, crowd};
use crate::history::History;

/// Successes per second of all workers; the timers of the test count whole milliseconds.
const ALL: f64 = 16.0 / 0.0205;

struct Sea {
    upstream: Upstream,
    route: Route,
}

impl Sea {
    fn new(upstream: UpstreamBuilder) -> Self {
        let upstream = upstream
            .service_time(Exponential(20.ms()))
            .start_in_process();
        let route = Route::to(&upstream, 10.ms());
        Self { upstream, route }
    }

    /// 30 s, of which the first third is calm; what the law did.
    async fn sail<L, B>(&self, layer: &L, steer: &dyn Steer, change: impl Future) -> Arc<History>
    where
        L: Layer<Timeout<Route>>,
        L::Service: Service<Get, Response = Response<B>, Error = Error> + Clone,
        B: http_body::Body,
    {
        let history = History::of(steer);
        let stack = layer.layer(TimeoutLayer::new(800.ms()).layer(self.route.clone()));
        let change = async {
            sleep(10.s()).await;
            change.await
        };
        join(crowd(96, &stack, 30.s()), change).await;
        history.assert_seamless(steer);
        history
    }
}

/// That it says so within that span of seconds.
#[track_caller]
fn assert_says(history: &History, (from, to): (f64, f64), words: &[&str]) {
    let reasons = history.reasons(from, to);
    let says = |word: &&str| reasons.iter().any(|reason| reason.contains(*word));
    assert!(words.iter().any(says), "{words:?}: {reasons:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_capacity_that_is_halved_and_restored_is_followed() {
    each_law!(new => {
        let layer = new();
        let sea = Sea::new(Upstream::workers(16).queue(16));
        let change = async {
            sea.upstream.set_capacity(0.5);
            sleep(10.s()).await;
            sea.upstream.set_capacity(1.0);
        };
        let history = sea.sail(&layer, &layer.handle(), change).await;

        let before = history.limit(5.0, 10.0);
        let half = history.limit(13.0, 20.0);
        let after = history.limit(23.0, 30.0);
        assert!((20.0..40.0).contains(&before), "{before}");
        assert!((8.0..0.85 * before).contains(&half), "{half} of {before}");
        assert!((1.15 * half..40.0).contains(&after), "{after}");
        assert!(history.goodput(13.0, 20.0) > 0.95 * ALL / 2.0);
        assert!(history.goodput(23.0, 30.0) > 0.95 * ALL);
        assert_says(&history, (10.0, 12.0), &["latency grew ", "overloaded, above "]);
        assert_says(&history, (20.0, 22.0), &["all in use, and about "]);
    });
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_refuses_is_waited_out_by_single_requests() {
    each_law!(new => {
        let layer = new();
        let sea = Sea::new(Upstream::workers(16).queue(16));
        let change = async {
            sea.upstream.set_capacity(0.0);
            sleep(5.s()).await;
            sea.upstream.set_capacity(1.0);
        };
        let history = sea.sail(&layer, &layer.handle(), change).await;
        assert_waited_out(&sea, &history);
    });
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_is_silent_is_waited_out_by_single_requests() {
    each_law!(new => {
        let layer = new();
        let sea = Sea::new(Upstream::workers(16).queue(16));
        let change = async {
            sea.upstream.go_silent();
            sleep(5.s()).await;
            sea.upstream.speak();
        };
        let history = sea.sail(&layer, &layer.handle(), change).await;
        assert_waited_out(&sea, &history);
    });
}

/// An outage from 10 to 15 s.
#[track_caller]
fn assert_waited_out(sea: &Sea, history: &History) {
    let arrivals = sea.upstream.arrivals();
    let sent = arrivals.iter().filter(|arrival| {
        let at = arrival.at.as_secs_f64();
        (13.0..15.0).contains(&at)
    });
    assert!((1..=3).contains(&sent.count()));
    assert_says(history, (10.0, 15.0), &["overloads and no success"]);
    let changes = history.changes();
    let outage = changes.iter().take_while(|(at, _)| *at < 15.s());
    assert_eq!(outage.last().unwrap().1.to.limit as usize, 1);
    // The last pause, one of a second, and the way.
    assert_says(
        history,
        (15.0, 16.1),
        &["a success after an outage: starting again"],
    );
    assert!(history.goodput(20.0, 30.0) > 0.95 * ALL);
}

#[tokio::test(start_paused = true)]
async fn a_longer_way_raises_the_limit_and_a_shorter_one_lowers_it() {
    each_law!(new => {
        let layer = new();
        let sea = Sea::new(Upstream::workers(16).queue(64));
        let change = async {
            sea.route.set(60.ms());
            sleep(10.s()).await;
            sea.route.set(10.ms());
        };
        let history = sea.sail(&layer, &layer.handle(), change).await;

        // Then 64 keep all workers busy.
        let far = history.limit(13.0, 20.0);
        assert!((64.0..96.0).contains(&far), "{far}");
        let near = history.limit(25.0, 30.0);
        assert!((20.0..44.0).contains(&near), "{near}");
        assert!(history.goodput(13.0, 20.0) > 0.95 * ALL);
        assert!(history.goodput(25.0, 30.0) > 0.95 * ALL);
        assert_says(&history, (10.0, 13.0), &["measured a base latency of "]);
        assert_says(&history, (20.0, 25.0), &["measured a base latency of "]);
    });
}
