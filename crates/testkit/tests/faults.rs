//! Every fault as a client sees it: the table of the documentation, in process and on loopback.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use tidegate_testkit::{Fault, Response, Upstream, UpstreamBuilder};
use tokio::time::timeout;

const TABLE: &str = include_str!("../src/faults.md");

fn upstream(fault: Fault) -> UpstreamBuilder {
    Upstream::unlimited()
        .respond(|_| Response::new(200).body("hello"))
        .script(move |_, _| fault)
}

/// What a client sees of one request.
async fn seen<C>(connector: C, version: Version, uri: &str, patience: Duration) -> String
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new())
        .http2_only(version == Version::HTTP_2)
        .build(connector);
    let request = Request::get(uri).body(Empty::<Bytes>::new()).unwrap();
    let response = match timeout(patience, client.request(request)).await {
        Err(_) => return "nothing".into(),
        Ok(Err(error)) => return words(&error),
        Ok(Ok(response)) => response,
    };
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => read.extend(frame.into_data().unwrap()),
            Err(error) => {
                assert_eq!(read, b"hello");
                return format!("head, then {}", words(&error));
            }
        }
    }
    assert_eq!(read, b"hello");
    "all".into()
}

fn words(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<hyper::Error>()
        && error.is_incomplete_message()
    {
        return "connection closed".into();
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error.kind());
    }
    if let Some(error) = error.downcast_ref::<h2::Error>() {
        return match (error.get_io(), error.reason()) {
            (Some(error), _) => of_io(error.kind()),
            (_, Some(reason)) if error.is_go_away() => format!("`GOAWAY` {reason:?}"),
            (_, Some(reason)) if error.is_remote() => format!("`RST_STREAM` {reason:?}"),
            _ => "protocol error".into(),
        };
    }
    words(error.source().unwrap())
}

fn of_io(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::ConnectionReset => "connection reset".into(),
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => "connection closed".into(),
        kind => format!("{kind}"),
    }
}

/// Of each fault and version that it applies to, what `see` says; and whether it was executed.
async fn table(see: impl AsyncFn(Fault, Version) -> (String, u64)) -> String {
    let mut table =
        String::from("| fault | HTTP/1 client | HTTP/2 client | executed |\n|---|---|---|---|\n");
    for fault in Fault::EXAMPLES {
        let mut cells = vec![fault.to_string()];
        for version in [Version::HTTP_11, Version::HTTP_2] {
            if !fault.applies_to(version) {
                cells.push("–".into());
                continue;
            }
            let (seen, executed) = see(fault, version).await;
            assert_eq!(executed, u64::from(fault.executes()), "{fault}");
            cells.push(seen);
        }
        cells.push(if fault.executes() { "yes" } else { "no" }.into());
        table += &["| ", &cells.join(" | "), " |\n"].concat();
    }
    table
}

#[tokio::test(start_paused = true)]
async fn in_process_a_client_sees_what_the_table_says() {
    let table = table(async |fault, version| {
        let upstream = upstream(fault).start_in_process();
        let minute = Duration::from_secs(60);
        let seen = seen(upstream.connector(), version, upstream.uri(), minute).await;
        (seen, upstream.report().executed)
    });
    let table = table.await;
    assert!(TABLE.contains(&table), "it is now:\n{table}");
}

#[tokio::test]
async fn on_loopback_a_client_sees_what_the_table_says() {
    let table = table(async |fault, version| {
        let upstream = upstream(fault).start().await;
        // Only silence waits for the end of it.
        let patience = match fault {
            Fault::Silence => Duration::from_millis(50),
            _ => Duration::from_secs(60),
        };
        let seen = seen(HttpConnector::new(), version, upstream.uri(), patience).await;
        (seen, upstream.report().executed)
    });
    let table = table.await;
    assert!(TABLE.contains(&table), "it is now:\n{table}");
}
