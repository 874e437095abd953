//! How long requests take.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use http::{Request, Response};
use tidegate_core::{Error, Refused, RefusedReason};
use tidegate_metrics::{Measure, Metrics};
use tower::timeout::TimeoutLayer;
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::rendered::Recorded;

const NAME: &str = "http_client_request_duration_seconds";
const SECOND: Duration = Duration::from_secs(1);

/// Takes as many seconds as the first part of the path says, and answers with the second.
async fn after(request: Request<()>) -> Result<Response<()>, io::Error> {
    let mut parts = request.uri().path()[1..].split('/');
    let mut next = || parts.next().unwrap_or_default().parse::<u16>();
    let (seconds, status) = (next().unwrap(), next());
    tokio::time::sleep(u32::from(seconds) * SECOND).await;
    let status = status.map_err(|_| io::ErrorKind::ConnectionReset)?;
    Ok(Response::builder().status(status).body(()).unwrap())
}

fn request(method: &str, uri: &str) -> Request<()> {
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_request_is_measured_by_method_host_and_status() {
    let recorded = Recorded::new();
    let stack = Metrics::new("crawl").requests().layer(service_fn(after));
    for (method, uri) in [
        ("GET", "http://a.example/2/200"),
        ("GET", "http://A.example.:80/3/200?key=secret"),
        ("POST", "https://me:secret@a.example/1/503"),
        ("BREW", "http://[::1]:8080/0/299"),
    ] {
        let _ = stack.clone().oneshot(request(method, uri)).await.unwrap();
    }
    let reset = stack
        .clone()
        .oneshot(request("GET", "http://a.example/1/reset"))
        .await;
    assert!(reset.unwrap_err().find::<io::Error>().is_some());
    let common = |method, address, port| {
        [
            ("tidegate_stack", "crawl"),
            ("http_request_method", method),
            ("server_address", address),
            ("server_port", port),
        ]
    };
    for (labels, more, count, sum) in [
        (
            common("GET", "a.example", "80"),
            &[("http_response_status_code", "200")][..],
            2.0,
            5.0,
        ),
        (
            common("POST", "a.example", "443"),
            &[("http_response_status_code", "503"), ("error_type", "503")],
            1.0,
            1.0,
        ),
        (
            common("_OTHER", "::1", "8080"),
            &[("http_response_status_code", "200")],
            1.0,
            0.0,
        ),
        (
            common("GET", "a.example", "80"),
            &[("error_type", "connection")],
            1.0,
            1.0,
        ),
    ] {
        let labels = [&labels[..], more].concat();
        assert_eq!(
            recorded.value(&format!("{NAME}_count"), &labels),
            count,
            "{labels:?}"
        );
        assert_eq!(
            recorded.value(&format!("{NAME}_sum"), &labels),
            sum,
            "{labels:?}"
        );
    }
    let lines = recorded.lines();
    assert!(lines.contains(&format!("# TYPE {NAME} histogram")));
    assert!(
        !lines
            .iter()
            .any(|line| line.contains("secret") || line.contains("/2/200"))
    );
}

#[tokio::test]
async fn a_host_is_one_however_it_is_written_and_another_at_another_port() {
    let recorded = Recorded::new();
    let mut stack = ready();
    for uri in [
        "http://a.example/",
        "http://a.example/",
        "http://me:secret@a.example/",
        "http://A.Example.:80/",
        "https://a.example:80/",
        "https://a.example/",
        "http://a.example:443/",
        "http://a.example:8080/",
    ] {
        let _ = stack.call(request("GET", uri)).await.unwrap();
    }
    for (port, count) in [("80", 5.0), ("443", 2.0), ("8080", 1.0)] {
        let labels = [
            ("tidegate_stack", "crawl"),
            ("http_request_method", "GET"),
            ("server_address", "a.example"),
            ("server_port", port),
            ("http_response_status_code", "200"),
        ];
        assert_eq!(recorded.value(&format!("{NAME}_count"), &labels), count);
    }
}

/// How many were measured that ended in this error.
fn failed(recorded: &Recorded, error: &str) -> f64 {
    let labels = [
        ("tidegate_stack", "crawl"),
        ("http_request_method", "GET"),
        ("server_address", "a.example"),
        ("server_port", "80"),
        ("error_type", error),
    ];
    recorded
        .find(&format!("{NAME}_count"), &labels)
        .unwrap_or(0.0)
}

#[tokio::test(start_paused = true)]
async fn a_timeout_below_is_one_and_one_above_is_a_cancellation() {
    let recorded = Recorded::new();
    let layer = Metrics::new("crawl").requests();
    let timeout = TimeoutLayer::new(SECOND);
    let slow = || request("GET", "http://a.example/9/200");

    let below = ServiceBuilder::new()
        .layer(layer.clone())
        .layer(timeout.clone())
        .service_fn(after);
    assert!(below.oneshot(slow()).await.is_err());
    assert_eq!(failed(&recorded, "timed_out"), 1.0);

    let above = ServiceBuilder::new()
        .layer(timeout)
        .layer(layer)
        .service_fn(after);
    let mut call = Box::pin(above.clone().oneshot(slow()));
    assert!(call.as_mut().await.is_err());
    drop(call);
    assert_eq!(failed(&recorded, "cancelled"), 1.0);
    drop(above.oneshot(slow()));
    assert_eq!(recorded.total(&format!("{NAME}_count")), 2.0);
}

#[tokio::test]
async fn what_is_refused_below_was_not_sent_and_is_not_measured() {
    let recorded = Recorded::new();
    let refuse = |_: Request<()>| async {
        Err::<Response<()>, Error>(Refused::new("gate", RefusedReason::Closed).into())
    };
    let stack = Metrics::new("crawl").requests().layer(service_fn(refuse));
    let error = stack
        .oneshot(request("GET", "http://a.example/"))
        .await
        .unwrap_err();
    assert_eq!(error.refused().unwrap().by, "gate");
    assert_eq!(recorded.total(&format!("{NAME}_count")), 0.0);
}

fn ready() -> Measure<impl Service<Request<()>, Response = Response<()>, Error = Infallible> + Clone>
{
    let ready = |_| std::future::ready(Ok::<_, Infallible>(Response::new(())));
    Metrics::new("crawl").requests().layer(service_fn(ready))
}

#[tokio::test]
async fn of_a_million_hosts_the_hot_ones_have_a_name_and_nothing_is_lost() {
    let recorded = Recorded::new();
    let mut stack = ready();
    let mut ask = async |host: &str| {
        let uri = format!("http://{host}/");
        let _ = stack.call(request("GET", &uri)).await.unwrap();
    };
    for host in 0..1_000_000 {
        ask(&format!("{host}.example")).await;
        if host % 300 == 299 {
            for _ in 0..3 {
                ask(&format!("hot-{}.example", host / 300 % 3)).await;
            }
        }
        if host % 10_000 == 0 {
            // Or all of them would be kept until the end.
            recorded.lines();
        }
    }
    let hosts = recorded.values_of("server_address");
    assert!(hosts.len() <= 21, "{hosts:?}");
    for hot in 0..3 {
        assert!(hosts.contains(&format!("hot-{hot}.example")), "{hosts:?}");
    }
    assert_eq!(
        recorded.total(&format!("{NAME}_count")),
        1_000_000.0 + 3.0 * 3_333.0
    );
}

#[tokio::test]
async fn a_host_that_cannot_be_resolved_or_is_not_there_counts_as_other() {
    let recorded = Recorded::new();
    let mut stack = ready();
    let long = format!("http://{}/", "a".repeat(10_000));
    for uri in [&*long, "/path"] {
        let _ = stack.call(request("GET", uri)).await.unwrap();
    }
    assert_eq!(recorded.values_of("server_address"), ["other"]);
    assert_eq!(recorded.total(&format!("{NAME}_count")), 2.0);
}

#[test]
fn a_request_to_a_known_host_allocates_nothing_here() {
    // No recorder: what that allocates is another's.
    let mut stack = ready();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut requests: Vec<_> = (0..3)
        .map(|_| request("GET", "http://a.example/"))
        .collect();
    runtime.block_on(async {
        let _ = stack.call(requests.pop().unwrap()).await.unwrap();
        let (second, third) = (requests.pop().unwrap(), requests.pop().unwrap());
        let mut answers = Vec::with_capacity(2);
        let counted = allocation_counter::measure(|| {
            for request in [second, third] {
                let answer = futures_util::FutureExt::now_or_never(stack.call(request));
                answers.push(answer.unwrap().unwrap());
            }
        });
        assert_eq!(counted.count_total, 0);
    });
}
