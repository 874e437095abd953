//! Method by failure, on sockets: what the caller gets, and how often the request was executed.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Method, Request, Uri, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tidegate::{GaveUp, RetryLayer, Units};
use tidegate_testkit::{Act, Fault, Response, Upstream};
use tower::{Layer, Service, ServiceExt, service_fn};

const TABLE: &str = include_str!("../../crates/retry/src/matrix.md");

/// What goes wrong with the first attempt.
#[derive(Clone, Debug)]
enum Failure {
    /// Nobody listens.
    Refused,
    /// Before the request is executed, or after.
    Fault(&'static str, Version, Fault),
    /// Instead of executing it.
    Status(&'static str, Box<Response>),
    /// After it was executed.
    LateStatus(&'static str, u16),
}

impl Failure {
    fn all() -> Vec<Self> {
        let busy = Response::new(429);
        let told = busy.clone().header("retry-after", "0.05");
        let (one, two) = (Version::HTTP_11, Version::HTTP_2);
        let fault = |version, fault: Fault| Self::Fault(fault.name(), version, fault);
        vec![
            Self::Refused,
            fault(one, Fault::ResetBeforeHead),
            fault(one, Fault::HalfCloseBeforeHead),
            fault(one, Fault::ResetInHead),
            Self::Fault("timeout, not executed", one, Fault::Silence),
            Self::Fault("timeout, executed", one, Fault::SlowHead(60.s())),
            Self::Status("429", Box::new(busy)),
            Self::Status("429 with a hint", Box::new(told)),
            Self::Status("503", Box::new(Response::new(503))),
            Self::LateStatus("503, executed", 503),
            fault(one, Fault::ResetInBody),
            fault(two, Fault::RefusedStream),
            fault(two, Fault::GoAway { processed: false }),
            fault(two, Fault::GoAway { processed: true }),
            fault(two, Fault::EnhanceYourCalm),
            fault(two, Fault::ResetBeforeHead),
            fault(two, Fault::ResetStream),
        ]
    }

    fn name(&self) -> String {
        match self {
            Self::Refused => "connection refused".into(),
            Self::Fault(name, Version::HTTP_2, _) => format!("HTTP/2: {name}"),
            Self::Fault(name, ..) | Self::Status(name, _) | Self::LateStatus(name, _) => {
                (*name).into()
            }
        }
    }

    fn version(&self) -> Version {
        match self {
            Self::Fault(_, version, _) => *version,
            _ => Version::HTTP_11,
        }
    }

    /// Only where an attempt is to run out of time does it have little of it.
    fn patience(&self) -> Duration {
        match self {
            Self::Fault(_, _, Fault::Silence | Fault::SlowHead(_)) => 1.s(),
            _ => 60.s(),
        }
    }

    /// The head of a response has come, so that the caller has it.
    fn is_in_body(&self) -> bool {
        let Self::Fault(_, _, fault) = self else {
            return false;
        };
        matches!(fault, Fault::ResetInBody | Fault::ResetStream)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Get,
    Put,
    Post,
    PostWithKey,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Get, Self::Put, Self::Post, Self::PostWithKey];

    fn request(self, uri: &str) -> Request<Full<Bytes>> {
        let request = Request::builder().uri(uri).method(match self {
            Self::Get => Method::GET,
            Self::Put => Method::PUT,
            Self::Post | Self::PostWithKey => Method::POST,
        });
        let request = match self {
            Self::PostWithKey => request.header("idempotency-key", "tide-7"),
            _ => request,
        };
        request.body(Full::from("low")).unwrap()
    }
}

/// An upstream on which the first request fails so, and how many it has executed. A refusal is not
/// executed.
async fn upstream(failure: &Failure) -> (Upstream, Arc<AtomicU64>) {
    let executed = Arc::new(AtomicU64::new(0));
    let (count, failed) = (Arc::clone(&executed), failure.clone());
    let upstream = Upstream::unlimited().respond(move |_| {
        let is_first = count.fetch_add(1, Relaxed) == 0;
        match failed {
            Failure::LateStatus(_, status) if is_first => Response::new(status),
            _ => Response::new(200).body("high"),
        }
    });
    let failed = failure.clone();
    let upstream = upstream.script(move |_, nth| match (&failed, nth) {
        (Failure::Fault(_, _, fault), 0) => Act::from(*fault),
        (Failure::Status(_, response), 0) => Response::clone(response).into(),
        _ => Act::AsUsual,
    });
    (upstream.start().await, executed)
}

/// A port on which nobody listens.
fn dead_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// What came of a request whose first attempt failed so, in words; and how often it was executed.
async fn outcome(failure: &Failure, kind: Kind) -> (String, u64) {
    let (upstream, executed) = upstream(failure).await;
    let is_first = AtomicU64::new(u64::from(matches!(failure, Failure::Refused)));
    let dead: Uri = format!("http://{}/", dead_port()).parse().unwrap();
    let is_first = Arc::new(is_first);
    let connector = service_fn(move |uri: Uri| {
        let refused = is_first.swap(0, Relaxed) == 1;
        HttpConnector::new().call(if refused { dead.clone() } else { uri })
    });
    let client = Client::builder(TokioExecutor::new())
        // What is sent again is to be the retry's doing alone.
        .retry_canceled_requests(false)
        .http2_only(failure.version() == Version::HTTP_2)
        .build(connector);
    let retry = RetryLayer::exponential(5.ms()..50.ms()).attempt_timeout(failure.patience());
    let answer = retry
        .layer(client)
        .oneshot(kind.request(upstream.uri()))
        .await;
    let words = match answer {
        Err(error) => format!("error: {}", short(error.find().unwrap())),
        Ok(response) => match (response.status().as_u16(), GaveUp::of(&response).map(short)) {
            (status, Some(reason)) => format!("{status}: {reason}"),
            (status, None) => match response.into_body().collect().await {
                Ok(_) => format!("{status}"),
                Err(_) => format!("{status}, then an error"),
            },
        },
    };
    let words = format!("{words}; sent {}", upstream.report().arrivals);
    (words, executed.load(Relaxed))
}

fn short(gave_up: &GaveUp) -> String {
    gave_up.reason.to_string()
}

#[tokio::test]
async fn nothing_is_executed_twice_that_may_not_be_and_all_else_succeeds() -> Result<(), Infallible>
{
    let mut table = String::from(
        "| the first attempt | `GET` | `PUT` | `POST` | `POST` with `Idempotency-Key` |\n\
         |---|---|---|---|---|\n",
    );
    for failure in Failure::all() {
        let outcomes = join_all(Kind::ALL.map(|kind| outcome(&failure, kind))).await;
        let mut cells = vec![failure.name()];
        for (kind, (words, executed)) in Kind::ALL.into_iter().zip(outcomes) {
            let may_repeat = kind != Kind::Post;
            assert!(
                may_repeat || executed <= 1,
                "{failure:?} {kind:?}: {executed}"
            );
            let succeeds = words.starts_with("200;");
            assert!(
                succeeds || !may_repeat || failure.is_in_body(),
                "{failure:?} {kind:?}: {words}"
            );
            cells.push(format!("{words}, executed {executed}"));
        }
        table += &["| ", &cells.join(" | "), " |\n"].concat();
    }
    assert!(TABLE.contains(&table), "it is now:\n{table}");
    Ok(())
}
