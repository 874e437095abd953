use std::error::Error as _;
use std::iter;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{
    Aimd, BoxError, Error, Feedback, FeedbackLayer, Gate, GateHandle, GateLayer, HttpClassifier,
    Refused, Units, per_second,
};
use tidegate_testkit::{Connector, Fault, Response, Upstream};
use tokio::time::timeout;
use tower::{ServiceBuilder, ServiceExt};

use crate::page::assert_table;
use crate::recording::Recording;
use crate::support::now;

type Stack = Gate<Feedback<Client<Connector, Empty<Bytes>>, HttpClassifier, Recording<Aimd>>>;

/// Whoever asks for `/held` is not answered.
fn upstream() -> Upstream {
    Upstream::unlimited()
        .script(|head, _| (head.uri.path() == "/held").then_some(Fault::Silence))
        .respond(|_| Response::new(429).header("retry-after", "7"))
        .start_in_process()
}

struct Door {
    upstream: Upstream,
    gate: GateHandle,
    law: Recording<Aimd>,
    stack: Stack,
}

impl Door {
    fn new(gate: GateLayer) -> Self {
        let upstream = upstream();
        let handle = gate.handle();
        let law = Recording::new(Aimd::new().start(handle.limit()));
        let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle());
        let client = Client::builder(TokioExecutor::new()).build(upstream.connector());
        Self {
            upstream,
            gate: handle,
            law,
            stack: ServiceBuilder::new()
                .layer(gate)
                .layer(feedback)
                .service(client),
        }
    }

    fn request(path: &str) -> Request<Empty<Bytes>> {
        let uri = format!("http://upstream.test{path}");
        Request::get(uri).body(Empty::new()).unwrap()
    }

    /// That many requests are in flight or wait.
    async fn hold(&self, requests: usize) {
        for _ in 0..requests {
            let call = self.stack.clone().oneshot(Self::request("/held"));
            tokio::spawn(timeout(3_600.s(), call));
            tokio::task::yield_now().await;
        }
    }

    async fn ask(&self) -> Error {
        let answer = self.stack.clone().oneshot(Self::request("/asked")).await;
        answer.map(|response| response.status()).unwrap_err()
    }

    /// The same through layers that box their errors.
    async fn ask_through_boxes(&self) -> BoxError {
        let stack = ServiceBuilder::new()
            .timeout(3_600.s())
            .buffer(1)
            .map_err(BoxError::from)
            .service(self.stack.clone());
        let answer = stack.oneshot(Self::request("/asked")).await;
        answer.map(|response| response.status()).unwrap_err()
    }

    fn asked_of_upstream(&self) -> usize {
        let arrivals = self.upstream.arrivals();
        let asked = arrivals.iter().filter(|arrival| *arrival.key == *"/asked");
        asked.count()
    }
}

fn gate(limit: usize) -> GateLayer {
    GateLayer::new(limit)
}

type Case = (&'static str, GateLayer, usize, fn(&GateHandle));

fn cases() -> [Case; 7] {
    let pace = per_second(0.1).burst(1);
    [
        ("as many wait as may", gate(1).max_queue(1), 2, |_| ()),
        ("nobody may wait", gate(1).max_queue(0), 1, |_| ()),
        ("it has waited", gate(1).max_wait(2.s()), 1, |_| ()),
        (
            "the pace is too slow",
            gate(9).pace(pace).max_wait(2.s()),
            1,
            |_| (),
        ),
        ("paused", gate(9).max_wait(2.s()), 0, |gate| {
            gate.pause_until((now() + 60.s()).into_std());
        }),
        ("closed", gate(9), 0, |gate| gate.close()),
        ("closed, full too", gate(1), 1, |gate| gate.close()),
    ]
}

fn row(why: &str, error: &Error, sent: usize) -> String {
    let refused = error.refused().expect("it is a refusal");
    let retry_after = match refused.retry_after {
        Some(wait) => format!("{wait:?}"),
        None => "–".into(),
    };
    let sources = iter::successors(error.source(), |&error| error.source()).count();
    format!(
        "| {why} | `{:?}` | {error} | {retry_after} | {sources} | {sent} |\n",
        refused.reason
    )
}

#[tokio::test(start_paused = true)]
async fn each_refusal_says_why_and_that_nothing_was_sent_and_nothing_was() {
    let mut table = String::from(
        "| why | `reason` | what it says | `retry_after` | sources | sent |\n|---|---|---|---|---|---|\n",
    );
    for (why, gate, held, prepare) in cases() {
        let door = Door::new(gate);
        door.hold(held).await;
        prepare(&door.gate);
        let error = door.ask().await;
        table += &row(why, &error, door.asked_of_upstream());

        let boxed = door.ask_through_boxes().await;
        let (plain, boxed) = (error.refused().unwrap(), Refused::find(&*boxed).unwrap());
        assert_eq!((plain.by, &plain.reason), (boxed.by, &boxed.reason));
        assert_eq!(door.asked_of_upstream(), 0);
        assert!(door.law.heard().samples.is_empty(), "{why}");
    }
    let door = Door::new(gate(1));
    door.hold(1).await;
    let error = Error::from(door.gate.try_acquire().unwrap_err());
    table += &row("`try_acquire`", &error, door.asked_of_upstream());
    assert_table("surprises.md", "refusals", &table);
}

#[tokio::test(start_paused = true)]
async fn a_429_of_the_service_is_a_response_and_no_refusal() {
    let door = Door::new(gate(1));
    let answer = door.stack.clone().oneshot(Door::request("/asked")).await;
    let response = answer.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(door.asked_of_upstream(), 1);
    assert_eq!(door.law.heard().samples[0].retry_after, Some(7.s()));
}
