//! Scripts for single requests, with exact times under a paused clock.

use std::io::ErrorKind;
use std::time::Duration;

use http::HeaderValue;
use http_body_util::BodyExt;
use tidegate_testkit::{Act, Fault, Fixed, Response, Upstream, UpstreamBuilder};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::support::{VERSIONS, client, get, ms, now};

fn hello() -> UpstreamBuilder {
    Upstream::unlimited()
        .service_time(Fixed(ms(20)))
        .respond(|_| Response::new(200).body("hello"))
}

#[tokio::test(start_paused = true)]
async fn each_request_meets_what_its_number_says() {
    let upstream = hello()
        .script(|head, nth| match (nth, head.uri.path()) {
            (0, _) => Response::new(503).header("retry-after", "1").into(),
            (1, _) => Fault::ResetBeforeHead.into(),
            (_, "/moved") => Response::redirect(307, "/").into(),
            _ => Act::AsUsual,
        })
        .start_in_process();
    let answer = async |path: &str| upstream.direct().oneshot(get(path)).await;
    let first = answer("/").await.unwrap();
    assert_eq!(
        (first.status().as_u16(), &first.headers()["retry-after"]),
        (503, &HeaderValue::from(1))
    );
    assert_eq!(
        answer("/").await.unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(answer("/").await.unwrap().status(), 200);
    let moved = answer("/moved").await.unwrap();
    assert_eq!(
        (moved.status().as_u16(), &moved.headers()["location"]),
        (307, &HeaderValue::from_static("/"))
    );
    let report = upstream.report();
    assert_eq!(
        (report.arrivals, report.executed, report.unanswered),
        (4, 3, 1)
    );
    let executed = upstream
        .arrivals()
        .into_iter()
        .map(|arrival| arrival.executed);
    assert_eq!(
        executed.collect::<Vec<_>>(),
        [Some(ms(0)), None, Some(ms(20)), Some(ms(40))]
    );
}

#[tokio::test(start_paused = true)]
async fn a_slow_head_and_a_slow_body_take_exactly_their_time() {
    for (fault, head, body) in [
        (Fault::SlowHead(ms(30)), 50, 50),
        (
            Fault::SlowBody {
                chunk: 2,
                every: ms(10),
            },
            20,
            50,
        ),
        (
            Fault::SlowBody {
                chunk: 0,
                every: ms(10),
            },
            20,
            70,
        ),
    ] {
        let upstream = hello().script(move |_, _| fault).start_in_process();
        for version in VERSIONS {
            let origin = now();
            let response = client(&upstream, version).request(get("/")).await.unwrap();
            assert_eq!(response.headers()["content-length"], "5");
            assert_eq!(now() - origin, ms(head), "{fault}");
            let read = response.into_body().collect().await.unwrap();
            assert_eq!(read.to_bytes(), "hello");
            assert_eq!(now() - origin, ms(body), "{fault}");
        }
        assert_eq!((upstream.report().served, upstream.in_flight()), (2, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_strikes_at_its_time_and_takes_none() {
    for fault in Fault::EXAMPLES {
        let slow = matches!(fault, Fault::SlowHead(_) | Fault::SlowBody { .. });
        let silent = fault == Fault::Silence;
        for version in VERSIONS {
            if slow || silent || !fault.applies_to(version) {
                continue;
            }
            let upstream = hello().script(move |_, _| fault).start_in_process();
            let origin = now();
            if let Ok(response) = client(&upstream, version).request(get("/")).await {
                drop(response.into_body().collect().await);
            }
            let expected = if fault.executes() { ms(20) } else { ms(0) };
            assert_eq!(now() - origin, expected, "{fault} {version:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_faults_are_errors_of_io() {
    let refused = [ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof];
    for (fault, in_head, in_body) in [
        (Fault::ResetBeforeHead, Some(refused[0]), None),
        (Fault::ResetInHead, Some(refused[0]), None),
        (Fault::HalfCloseBeforeHead, Some(refused[1]), None),
        (Fault::ResetInBody, None, Some(refused[0])),
        (Fault::HalfCloseInBody, None, Some(refused[1])),
        (Fault::ShortBody, None, Some(refused[1])),
        (Fault::LongBody, None, None),
        (Fault::RefusedStream, None, None),
        (Fault::GoAway { processed: false }, None, None),
        (Fault::EnhanceYourCalm, None, None),
    ] {
        let upstream = hello().script(move |_, _| fault).start_in_process();
        let answer = upstream.direct().oneshot(get("/")).await;
        let (head, body) = match answer {
            Err(error) => (Some(error.kind()), None),
            Ok(response) => {
                let mut body = response.into_body();
                let read = body.frame().await.unwrap().unwrap();
                assert_eq!(read.into_data().unwrap(), "hello");
                let end = body.frame().await.map(|frame| frame.unwrap_err().kind());
                assert!(body.frame().await.is_none());
                (None, end)
            }
        };
        assert_eq!((head, body), (in_head, in_body), "{fault}");
        assert_eq!(upstream.in_flight(), 0);
        let report = upstream.report();
        let ends = report.served + report.aborted + report.unanswered;
        assert_eq!((report.arrivals, ends), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_silence_lasts() {
    let upstream = hello().script(|_, _| Fault::Silence).start_in_process();
    let answer = upstream.direct().oneshot(get("/"));
    timeout(Duration::from_secs(3_600), answer)
        .await
        .unwrap_err();
    assert_eq!(upstream.report().executed, 0);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_refused_does_not_meet_its_fault() {
    let upstream = hello()
        .rate(0.0, 1)
        .script(|_, _| Fault::ResetInBody)
        .start_in_process();
    let response = upstream.direct().oneshot(get("/")).await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(upstream.report().by_fault.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_the_body_leaves_a_head_alone() {
    let upstream = hello().script(|_, _| Fault::ResetInBody).start_in_process();
    for version in VERSIONS {
        let mut request = get("/");
        *request.method_mut() = http::Method::HEAD;
        let response = client(&upstream, version).request(request).await.unwrap();
        assert_eq!(response.headers()["content-length"], "5");
        response.into_body().collect().await.unwrap();
    }
    assert_eq!(upstream.report().served, 2);
    assert!(upstream.report().by_fault.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_goes_on_after_a_fault_of_its_connection() {
    for fault in Fault::EXAMPLES {
        for version in VERSIONS {
            if fault == Fault::Silence || !fault.applies_to(version) {
                continue;
            }
            let upstream = hello()
                .script(move |_, nth| (nth == 1).then_some(fault))
                .start_in_process();
            let client = client(&upstream, version);
            for _ in 0..3 {
                if let Ok(response) = client.request(get("/")).await {
                    drop(response.into_body().collect().await);
                }
                // Until the client has seen the end of the connection too.
                tokio::time::sleep(ms(1)).await;
            }
            let report = upstream.report();
            assert_eq!(report.arrivals, 3, "{fault} {version:?}");
            assert_eq!(report.executed, 2 + u64::from(fault.executes()));
            assert_eq!((report.in_flight, report.cancelled), (0, 0));
            assert_eq!(report.by_fault[fault.name()], 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_alone_are_a_head_that_ends_the_stream() {
    let upstream = Upstream::unlimited()
        .respond(|_| Response::new(200).header("grpc-status", "14"))
        .start_in_process();
    let client = client(&upstream, VERSIONS[1]);
    let response = client.request(get("/")).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "14");
    assert!(http_body::Body::is_end_stream(response.body()));
}
