//! Outcomes that are known only when a body ends, and when the law hears of them.

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::{
    Aimd, Cause, Feedback, FeedbackLayer, Gate, GateHandle, GateLayer, GrpcClassifier,
    HttpClassifier, Outcome, Units,
};
use tidegate_testkit::{Connector, Response, Upstream};
use tower::{ServiceBuilder, ServiceExt};

use crate::recording::Recording;
use crate::support::{assert_free, now};

type Stack<C> = Gate<Feedback<Client<Connector, Empty<Bytes>>, C, Recording<Aimd>>>;

/// A stack with that classifier before an upstream that answers so.
struct Site<C> {
    upstream: Upstream,
    gate: GateHandle,
    law: Recording<Aimd>,
    stack: Stack<C>,
}

impl<C> Site<C> {
    fn new(classifier: C, version: Version, response: Response) -> Self {
        let upstream = Upstream::unlimited()
            .respond(move |_| response.clone())
            .start_in_process();
        let gate = GateLayer::new(1);
        let handle = gate.handle();
        let law = Recording::new(Aimd::new());
        let feedback = FeedbackLayer::new(classifier, law.clone(), gate.handle());
        let client = Client::builder(TokioExecutor::new())
            .http2_only(version == Version::HTTP_2)
            .build(upstream.connector());
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

    fn request() -> Request<Empty<Bytes>> {
        Request::get("http://upstream.test/")
            .body(Empty::new())
            .unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_reset_half_a_minute_after_its_head_corrects_the_law_then() {
    let response = Response::new(200)
        .chunk(vec![0; 400])
        .pause(30.s())
        .abort()
        .chunk(vec![0; 600])
        .sized();
    let site = Site::new(HttpClassifier::default(), Version::HTTP_11, response);
    let started = now();
    let response = site
        .stack
        .clone()
        .oneshot(Site::<HttpClassifier>::request())
        .await;
    let response = response.unwrap();
    assert_eq!(response.headers()["content-length"], "1000");
    assert_eq!(site.law.outcomes(), [Outcome::Success]);
    assert_eq!(site.gate.in_flight(), 1);

    response.into_body().collect().await.unwrap_err();
    assert_eq!(now() - started, 30.s());
    let lost = Outcome::Overload(Cause::Connection);
    assert_eq!(site.law.outcomes(), [Outcome::Success, lost]);
    assert_free(&site.gate, 1);
    // Nobody sends again what has been read in part.
    assert_eq!(site.upstream.report().arrivals, 1);
}

fn grpc() -> Response {
    Response::new(200).header("content-type", "application/grpc")
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_is_one_sample_where_its_status_is() {
    let message = b"\0\0\0\0\x04tide".as_slice();
    let busy = Outcome::Overload(Cause::Unavailable);
    let throttled = Outcome::Overload(Cause::Throttled);
    let streamed = || grpc().chunk(message).pause(5.s());
    for (response, at_head, at_end) in [
        (grpc().header("grpc-status", "14"), Some(busy), busy),
        (streamed().trailer("grpc-status", "8"), None, throttled),
        (
            streamed().trailer("grpc-status", "0"),
            None,
            Outcome::Success,
        ),
        (streamed().abort(), None, Outcome::Failure),
        (streamed(), None, Outcome::Failure),
    ] {
        let site = Site::new(GrpcClassifier::default(), Version::HTTP_2, response);
        let call = site
            .stack
            .clone()
            .oneshot(Site::<GrpcClassifier>::request());
        let response = call.await.unwrap();
        assert_eq!(site.law.outcomes(), Vec::from_iter(at_head));
        assert_eq!(site.gate.in_flight(), usize::from(at_head.is_none()));
        let _ = response.into_body().collect().await;
        assert_eq!(site.law.outcomes(), [at_end]);
        assert_free(&site.gate, 1);
    }
}
