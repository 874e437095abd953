//! Every fault of the upstream as a stack sees it: the table of `docs/faults.md`.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Version};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use tidegate::{
    AdaptiveLayer, Aimd, BoxError, FeedbackHandle, FeedbackLayer, GateLayer, HttpClassifier,
    Outcome, Units,
};
use tidegate_testkit::{Fault, Upstream, UpstreamBuilder};
use tokio::time::sleep;
use tower::layer::util::Stack;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::loopback::reqwest_client;
use crate::page::{self, assert_table};
use crate::recording::Recording;
use crate::support::assert_free;

const VERSIONS: [(Version, &str); 2] = [(Version::HTTP_11, "1"), (Version::HTTP_2, "2")];

const LIMIT: usize = 4;

/// What was seen of one fault.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    caller: String,
    law: String,
    samples: String,
    permit: &'static str,
    sent: u64,
    executed: u64,
}

/// How a gate and its law are put together.
#[derive(Clone, Copy, Debug)]
enum Form {
    TwoLayers,
    OneLayer,
}

const FORMS: [Form; 2] = [Form::TwoLayers, Form::OneLayer];

type Handle = FeedbackHandle<Recording<Aimd>>;

/// Whoever gives up, does so later than that.
const LATE: Duration = Duration::from_millis(25);

fn two_layers() -> (
    Handle,
    Stack<FeedbackLayer<HttpClassifier, Recording<Aimd>>, GateLayer>,
) {
    let gate = GateLayer::new(1);
    let law = Recording::new(Aimd::new().start(LIMIT));
    let feedback = FeedbackLayer::new(HttpClassifier::default(), law, gate.handle());
    let feedback = feedback.late_after(LATE);
    (feedback.handle(), Stack::new(feedback, gate))
}

fn one_layer() -> (Handle, AdaptiveLayer<HttpClassifier, Recording<Aimd>>) {
    let law = Recording::new(Aimd::new().start(LIMIT));
    let layer = AdaptiveLayer::new("law", HttpClassifier::default(), law).late_after(LATE);
    (layer.handle(), layer)
}

/// What becomes of a request that is sent through `stack`.
async fn see<S, B>(stack: S, fault: Fault, upstream: &Upstream, handle: &Handle) -> Seen
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body<Error: Into<BoxError>> + Unpin,
{
    let caller = called(stack, fault, upstream).await;
    let heard = handle.law(|law| law.heard());
    let first = heard.samples.first().expect("a sample");
    let corrections = heard.samples.len() - 1;
    assert_eq!(heard.starts, 1);
    assert!(corrections == 0 || first.outcome.is_success());
    let corrected = heard.samples[1..].iter().map(|sample| {
        assert_eq!((sample.latency, sample.started), (None, first.started));
        format!(", then {}", words(sample.outcome))
    });
    let report = upstream.report();
    assert_free(handle, LIMIT);
    Seen {
        caller,
        law: words(first.outcome) + &corrected.collect::<String>(),
        samples: match corrections {
            0 => "1".into(),
            corrections => format!("1 and {corrections} correction"),
        },
        permit: "back",
        sent: report.arrivals,
        executed: report.executed,
    }
}

async fn called<S, B>(stack: S, fault: Fault, upstream: &Upstream) -> String
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>>,
    S::Error: Into<BoxError>,
    B: Body<Error: Into<BoxError>> + Unpin,
{
    let request = Request::get(upstream.uri()).body(Empty::new()).unwrap();
    let silence = async {
        // A busy machine may take its time until the request is there.
        while fault != Fault::Silence || upstream.report().arrivals == 0 {
            sleep(1.ms()).await;
        }
        sleep(2 * LATE).await;
    };
    let mut body = tokio::select! {
        () = silence => return "gave up".into(),
        answer = stack.oneshot(request) => match answer {
            Err(_) => return "error".into(),
            Ok(response) => response.into_body(),
        },
    };
    loop {
        match body.frame().await {
            None => return "all".into(),
            Some(Ok(_)) => {}
            Some(Err(_)) => return "head, then error".into(),
        }
    }
}

fn words(outcome: Outcome) -> String {
    format!("`{outcome:?}`")
}

fn upstream(fault: Fault) -> UpstreamBuilder {
    Upstream::unlimited()
        .respond(|_| tidegate_testkit::Response::new(200).body("hello"))
        .script(move |_, _| fault)
}

async fn by_hyper<C>(
    form: Form,
    fault: Fault,
    version: Version,
    upstream: &Upstream,
    connector: C,
) -> Seen
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new())
        .http2_only(version == Version::HTTP_2)
        .build(connector);
    match form {
        Form::TwoLayers => {
            let (handle, layers) = two_layers();
            see(layers.layer(client), fault, upstream, &handle).await
        }
        Form::OneLayer => {
            let (handle, layer) = one_layer();
            see(layer.layer(client), fault, upstream, &handle).await
        }
    }
}

async fn by_reqwest(form: Form, fault: Fault, version: Version, upstream: &Upstream) -> Seen {
    let client = match version {
        Version::HTTP_2 => reqwest_client().http2_prior_knowledge(),
        _ => reqwest_client(),
    };
    let client = client.build().unwrap();
    let types = ServiceBuilder::new()
        .map_request(|request: Request<Empty<Bytes>>| {
            let url = request.uri().to_string().parse().unwrap();
            reqwest::Request::new(Method::GET, url)
        })
        .map_response(Response::<reqwest::Body>::from);
    match form {
        Form::TwoLayers => {
            let (handle, layers) = two_layers();
            let stack = types.service(layers.layer(client));
            see(stack, fault, upstream, &handle).await
        }
        Form::OneLayer => {
            let (handle, layer) = one_layer();
            let stack = types.service(layer.layer(client));
            see(stack, fault, upstream, &handle).await
        }
    }
}

fn cases() -> impl Iterator<Item = (Fault, Version, &'static str)> {
    let of = |fault: Fault| VERSIONS.map(|(version, name)| (fault, version, name));
    let all = Fault::EXAMPLES.into_iter().flat_map(of);
    all.filter(|(fault, version, _)| fault.applies_to(*version))
}

fn row(fault: Fault, http: &str, client: &str, seen: &Seen) -> String {
    let Seen {
        caller,
        law,
        samples,
        permit,
        sent,
        executed,
    } = seen;
    format!(
        "| {fault} | {http} | {client} | {caller} | {law} | {samples} | {permit} | {sent} | {executed} |\n"
    )
}

/// What `see` says of either form, each before an upstream of its own.
async fn on_loopback(see: impl AsyncFn(Form, &Upstream) -> Seen, fault: Fault) -> Seen {
    let [two, one] = FORMS;
    let seen = see(two, &upstream(fault).start().await).await;
    assert_eq!(see(one, &upstream(fault).start().await).await, seen);
    seen
}

#[tokio::test]
async fn what_a_law_hears_of_each_fault_is_the_table_of_the_docs() {
    let mut table = String::from(
        "| fault | HTTP | client | the caller gets | the law hears | samples | permit | sent | executed |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (fault, version, http) in cases() {
        let hyper = on_loopback(
            async |form, upstream| {
                by_hyper(form, fault, version, upstream, HttpConnector::new()).await
            },
            fault,
        )
        .await;
        let reqwest = on_loopback(
            async |form, upstream| by_reqwest(form, fault, version, upstream).await,
            fault,
        )
        .await;
        if hyper == reqwest {
            table += &row(fault, http, "both", &hyper);
        } else {
            table += &row(fault, http, "hyper-util", &hyper);
            table += &row(fault, http, "reqwest", &reqwest);
        }
        for seen in [hyper, reqwest] {
            let executed = if fault.executes() { seen.sent } else { 0 };
            assert_eq!(seen.executed, executed, "{fault}");
        }
    }
    assert_table("faults.md", "faults", &table);
}

#[tokio::test(start_paused = true)]
async fn in_process_each_fault_is_what_it_is_on_loopback() {
    let page = page::read("faults.md");
    for (fault, version, http) in cases() {
        for form in FORMS {
            let upstream = upstream(fault).start_in_process();
            let connector = upstream.connector();
            let seen = by_hyper(form, fault, version, &upstream, connector).await;
            let rows = ["both", "hyper-util"].map(|client| row(fault, http, client, &seen));
            assert!(rows.iter().any(|row| page.contains(row)), "{}", rows[1]);
        }
    }
}
