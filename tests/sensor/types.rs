//! What stacks and their futures are, and where their errors go.

use std::error::Error as StdError;

use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client as Hyper};
use hyper_util::rt::TokioExecutor;
use tidegate::{
    Aimd, Answer, BoxError, Client, Error, FeedbackLayer, GateLayer, GrpcClassifier,
    HttpClassifier, Outcome, Pid, Prober, Refused, RefusedReason, Units,
};
use tonic::transport::{Channel, Endpoint};
use tower::retry::{Policy, RetryLayer};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::loopback::reqwest_client;

/// A stack goes where a server keeps its state, and its calls into tasks.
fn assert_stack<S, Req>(stack: S) -> S
where
    S: Service<Req, Error = Error, Future: Send + 'static> + Clone + Send + Sync + 'static,
    S::Response: Send + 'static,
{
    stack
}

fn hyper() -> Hyper<HttpConnector, Empty<Bytes>> {
    Hyper::builder(TokioExecutor::new()).build_http()
}

#[tokio::test]
async fn stacks_over_each_client_and_law_can_be_cloned_shared_and_spawned() {
    let gate = GateLayer::new(1);
    let http = HttpClassifier::default();
    let aimd = FeedbackLayer::new(http.clone(), Aimd::new(), gate.handle());
    let prober = FeedbackLayer::new(http.clone(), Prober::new(0.s()), gate.handle());
    let pid = FeedbackLayer::new(http, Pid::new(0.s()), gate.handle());
    let stack = ServiceBuilder::new().layer(gate.clone());

    let reqwest = reqwest_client().build().unwrap();
    let reqwest = assert_stack::<_, reqwest::Request>(stack.clone().layer(aimd).service(reqwest));
    let _named: Client<reqwest::Request, reqwest::Response> = Client::new(reqwest);

    let both = stack.clone().layer(prober).layer(pid).service(hyper());
    let named = Client::new(assert_stack::<_, Request<Empty<Bytes>>>(both));
    let _named = assert_stack::<_, Request<Empty<Bytes>>>(named);

    let grpc = FeedbackLayer::new(GrpcClassifier::default(), Aimd::new(), gate.handle());
    let channel: Channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
    let channel = stack.layer(grpc).service(channel);
    assert_stack::<_, Request<tonic::body::Body>>(channel);

    let gate = GateLayer::new(1).hold_head();
    let classifier = |_: Answer<'_, u32>| Outcome::Success;
    let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle()).hold_head();
    let plain = ServiceBuilder::new().layer(gate).layer(feedback);
    let plain = plain.service_fn(async |_: String| Ok::<_, std::io::Error>(7_u32));
    assert_stack::<_, String>(plain);
}

/// A stack whose gate is closed, over hyper-util's client; or one that is open, to where nobody
/// listens.
fn stack(
    open: bool,
) -> impl Service<Request<Empty<Bytes>>, Response: Send + 'static, Error = Error, Future: Send>
+ Clone
+ Send
+ Sync
+ 'static {
    let gate = GateLayer::new(1);
    if !open {
        gate.handle().close();
    }
    let classifier = HttpClassifier::default();
    let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle());
    let stack = ServiceBuilder::new().layer(gate).layer(feedback);
    stack.service(hyper())
}

/// A port of this machine where nobody listens.
fn nowhere() -> Request<Empty<Bytes>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/", listener.local_addr().unwrap());
    Request::get(uri).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn errors_go_into_anyhow_and_into_boxes_by_a_question_mark() {
    async fn into_anyhow(open: bool) -> anyhow::Result<()> {
        stack(open).oneshot(nowhere()).await?;
        Ok(())
    }
    async fn into_box(open: bool) -> Result<(), Box<dyn StdError>> {
        stack(open).oneshot(nowhere()).await?;
        Ok(())
    }
    async fn into_send_box(open: bool) -> Result<(), BoxError> {
        stack(open).oneshot(nowhere()).await?;
        Ok(())
    }
    let closed = Refused::new("gate", RefusedReason::Closed);
    let error = into_anyhow(false).await.unwrap_err();
    assert_eq!(Refused::find(error.as_ref()), Some(&closed));
    let error = into_box(false).await.unwrap_err();
    assert_eq!(Refused::find(&*error), Some(&closed));
    let error = into_send_box(false).await.unwrap_err();
    assert_eq!(Refused::find(&*error), Some(&closed));

    let errors: [BoxError; 3] = [
        into_anyhow(true).await.unwrap_err().into(),
        into_box(true).await.unwrap_err().to_string().into(),
        into_send_box(true).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "client error (Connect)");
        assert!(Refused::find(&*error).is_none());
    }
}

#[derive(Clone)]
struct Never;

impl<Req, Res> Policy<Req, Res, Error> for Never {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut Req, _: &mut Result<Res, Error>) -> Option<Self::Future> {
        None
    }

    fn clone_request(&mut self, _: &Req) -> Option<Req> {
        None
    }
}

#[tokio::test]
async fn a_stack_stands_under_towers_timeout_buffer_and_retry() {
    async fn error<S>(stack: S) -> Error
    where
        S: Service<Request<Empty<Bytes>>, Response: Send, Error: Into<BoxError>, Future: Send>,
    {
        let Err(error) = stack.oneshot(nowhere()).await else {
            panic!("nobody listens there");
        };
        Error::service(error)
    }
    for open in [false, true] {
        let bare = || stack(open);
        let all = ServiceBuilder::new()
            .buffer(8)
            .timeout(60.s())
            .layer(RetryLayer::new(Never))
            .service(bare());
        for error in [
            error(ServiceBuilder::new().timeout(60.s()).service(bare())).await,
            error(ServiceBuilder::new().buffer(8).service(bare())).await,
            error(ServiceBuilder::new().retry(Never).service(bare())).await,
            error(all).await,
        ] {
            assert_eq!(error.refused().is_some(), !open, "{error:?}");
            let connect = error.find().is_some_and(legacy::Error::is_connect);
            assert_eq!(connect, open);
        }
    }
}
