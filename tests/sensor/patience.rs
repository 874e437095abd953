//! What a caller that gives up says about an upstream that stalls.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{
    Aimd, Cause, Feedback, FeedbackLayer, Gate, GateHandle, GateLayer, HttpClassifier, Outcome,
    Units,
};
use tidegate_testkit::{Connector, Fixed, Response, Upstream};
use tokio::time::timeout;
use tower::{ServiceBuilder, ServiceExt};

use crate::recording::Recording;
use crate::support::assert_free;

const LIMIT: usize = 100;

type HyperClient = Client<Connector, Empty<Bytes>>;
type Stack = Gate<Feedback<HyperClient, HttpClassifier, Recording<Aimd>>>;

/// An upstream that takes 50 ms for each request, and users behind a gate of 100.
struct Site {
    upstream: Upstream,
    gate: GateHandle,
    law: Recording<Aimd>,
    stack: Stack,
}

impl Site {
    fn new() -> Self {
        let upstream = Upstream::unlimited()
            .service_time(Fixed(50.ms()))
            .respond(|_| Response::new(200).body("tide"))
            .start_in_process();
        let gate = GateLayer::new(1);
        let law = Recording::new(Aimd::new().start(LIMIT).max(LIMIT));
        let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
        let client = Client::builder(TokioExecutor::new()).build(upstream.connector());
        Self {
            gate: gate.handle(),
            law,
            stack: ServiceBuilder::new()
                .layer(gate)
                .layer(feedback)
                .service(client),
            upstream,
        }
    }

    /// Whether a user has the page within that time.
    async fn page(&self, patience: Duration) -> bool {
        let call = async {
            let request = Request::get(self.upstream.uri())
                .body(Empty::new())
                .unwrap();
            let response = self.stack.clone().oneshot(request).await.unwrap();
            response.into_body().collect().await.unwrap();
        };
        timeout(patience, call).await.is_ok()
    }

    /// How many of 1,000 users have their page; as many as the first limit come at once.
    async fn pages(&self, patience: Duration) -> usize {
        let mut pages = 0;
        for _ in 0..10 {
            let users = join_all((0..LIMIT).map(|_| self.page(patience)));
            pages += users.await.into_iter().filter(|page| *page).count();
        }
        assert_free(&self.gate, self.gate.limit());
        pages
    }

    fn samples(&self, outcome: Outcome) -> usize {
        let outcomes = self.law.outcomes();
        outcomes.into_iter().filter(|seen| *seen == outcome).count()
    }
}

const TIMED_OUT: Outcome = Outcome::Overload(Cause::TimedOut);

#[tokio::test(start_paused = true)]
async fn a_timeout_around_the_stack_backs_off_from_an_upstream_that_stalls_and_comes_back() {
    let site = Site::new();
    assert_eq!(site.pages(10.s()).await, 1_000);
    assert_eq!(site.gate.limit(), LIMIT);

    site.upstream.go_silent();
    assert_eq!(site.pages(10.s()).await, 0);
    assert_eq!(site.gate.limit(), 1);
    let timed_out = site.samples(TIMED_OUT);
    assert_eq!(timed_out as u64, site.upstream.report().unanswered);

    site.upstream.speak();
    for _ in 0..5 {
        site.pages(10.s()).await;
    }
    assert!(site.gate.limit() > 10, "{}", site.gate.limit());
    assert_eq!(site.samples(TIMED_OUT), timed_out);
}

#[tokio::test(start_paused = true)]
async fn users_that_close_a_page_early_do_not_slow_down_the_others() {
    let site = Site::new();
    assert_eq!(site.pages(10.s()).await, 1_000);

    // Twice the usual time is not yet late; and most close it before there can be an answer.
    for patience in [100.ms(), 40.ms()] {
        site.upstream.go_silent();
        assert_eq!(site.pages(patience).await, 0);
        site.upstream.speak();
        assert_eq!(site.gate.limit(), LIMIT);
    }
    assert_eq!(site.pages(40.ms()).await, 0);
    assert_eq!(site.gate.limit(), LIMIT);
    assert_eq!(site.samples(TIMED_OUT), 0);
    assert_eq!(site.samples(Outcome::Ignored), 3_000);
    assert_eq!(site.pages(51.ms()).await, 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_its_reader_drops_is_not_held_against_the_upstream() {
    let site = Site::new();
    for _ in 0..1_000 {
        let request = Request::get(site.upstream.uri())
            .body(Empty::new())
            .unwrap();
        drop(site.stack.clone().oneshot(request).await.unwrap());
    }
    assert_eq!(site.gate.limit(), LIMIT);
    assert_eq!(site.law.outcomes(), vec![Outcome::Success; 1_000]);
}
