//! Threads, without async.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;

use tidegate::{GateLayer, RefusedReason, Units};
use tidegate_testkit::{Fixed, Upstream};

use crate::support::assert_free;

/// A client without a runtime.
fn fetch(uri: &str) -> io::Result<String> {
    let address = uri.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn threads_without_async() {
    let upstream = Upstream::workers(10)
        .queue(0)
        .service_time(Fixed(2.ms()))
        .start_on_thread();
    let gate = GateLayer::for_throughput(200.0, 50.ms()).handle();

    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let _permit = gate.acquire_blocking(None).unwrap();
                let response = fetch(upstream.uri()).unwrap();
                assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
            });
        }
    });
    assert_eq!(upstream.report().served, 100);
    assert!(upstream.peak_in_flight() <= 10);
    assert_free(&gate, 10);
}

#[test]
fn a_thread_that_may_not_wait_longer_is_told_so() {
    let gate = GateLayer::new(1).handle();
    let _permit = gate.acquire_blocking(None).unwrap();
    let refused = gate.acquire_blocking(Some(5.ms())).unwrap_err();
    assert_eq!(
        refused.reason,
        RefusedReason::WaitedTooLong { max_wait: 5.ms() }
    );
    assert_eq!(gate.waiting(), 0);
}
