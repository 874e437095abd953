//! gRPC calls over the wire, classified as a layer does it.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Empty};
use tidegate_classify::{Classify, GrpcClassifier, Verdict, When};
use tidegate_core::{BoxError, Cause, Outcome};
use tokio::time::Duration;

use crate::frames::{self, CANCEL, INTERNAL_ERROR, REFUSED_STREAM, begin, go_away, headers, reset};
use crate::support::{CONNECTION, End, THROTTLED, hyper_http2};

/// When the one outcome of a call was known.
#[derive(Debug, PartialEq)]
enum At {
    Head,
    End,
    Error,
}

/// Calls, and reads to the end.
async fn call<C>(classifier: &C, script: Vec<u8>, end: End) -> (At, Verdict)
where
    C: Classify<Request<Empty<Bytes>>, Response<hyper::body::Incoming>>,
{
    let address = frames::answer(1, script, end).await;
    let request = Request::post(format!("http://{address}/greeter.Greeter/SayHello"));
    let request = request.body(Empty::new()).unwrap();
    let mut call = classifier.request(&request);
    let response = match hyper_http2().request(request).await {
        Ok(response) => response,
        Err(error) => return (At::Error, classifier.error(&mut call, &error)),
    };
    if let When::Now(verdict) = classifier.response(&mut call, &response) {
        return (At::Head, verdict);
    }
    match read(response).await {
        Ok(trailers) => (At::End, classifier.end(&mut call, trailers.as_ref())),
        Err(error) => (At::Error, classifier.error(&mut call, &*error)),
    }
}

async fn read(response: Response<hyper::body::Incoming>) -> Result<Option<HeaderMap>, BoxError> {
    Ok(response.into_body().collect().await?.trailers().cloned())
}

fn in_the_head(pairs: &[(&str, &str)]) -> Vec<u8> {
    headers(1, Some(200), pairs, true)
}

fn in_the_trailers(pairs: &[(&str, &str)]) -> Vec<u8> {
    [begin(1), headers(1, None, pairs, true)].concat()
}

#[tokio::test]
async fn a_code_is_known_where_it_stands_and_once() {
    let unavailable = Outcome::Overload(Cause::Unavailable);
    for (script, known, outcome) in [
        (in_the_head(&[("grpc-status", "14")]), At::Head, unavailable),
        (
            in_the_head(&[("grpc-status", "0")]),
            At::Head,
            Outcome::Success,
        ),
        (in_the_trailers(&[("grpc-status", "8")]), At::End, THROTTLED),
        (
            in_the_trailers(&[("grpc-status", "0")]),
            At::End,
            Outcome::Success,
        ),
        (
            in_the_trailers(&[("grpc-status", "5")]),
            At::End,
            Outcome::Ignored,
        ),
        (
            in_the_trailers(&[("grpc-status", "99")]),
            At::End,
            Outcome::Failure,
        ),
        (
            in_the_trailers(&[("grpc-status", "good")]),
            At::End,
            Outcome::Failure,
        ),
    ] {
        let found = call(&GrpcClassifier::default(), script, End::Silence).await;
        assert_eq!(found, (known, outcome.into()));
    }
}

#[tokio::test]
async fn a_call_that_ends_without_a_code_is_no_success() {
    let other = &[("x-other", "1")];
    for script in [in_the_head(other), in_the_trailers(other)] {
        let found = call(&GrpcClassifier::default(), script, End::Silence).await;
        assert_eq!(found, (At::End, Outcome::Failure.into()));
    }
}

#[tokio::test]
async fn a_call_that_is_cut_short_says_why() {
    for (frames, end, outcome) in [
        (reset(1, CANCEL), End::Silence, CONNECTION),
        (reset(1, INTERNAL_ERROR), End::Silence, Outcome::Failure),
        (Vec::new(), End::Close, CONNECTION),
        (Vec::new(), End::Reset, CONNECTION),
    ] {
        let script = [begin(1), frames].concat();
        let found = call(&GrpcClassifier::default(), script, end).await;
        assert_eq!(found, (At::Error, outcome.into()), "{end:?}");
    }
    for (script, outcome) in [
        (reset(1, REFUSED_STREAM), CONNECTION),
        (go_away(0, 0), Outcome::Ignored),
    ] {
        let found = call(&GrpcClassifier::default(), script, End::Silence).await;
        assert_eq!(found, (At::Error, outcome.into()));
    }
}

#[tokio::test]
async fn a_pushback_is_a_wait_and_a_negative_one_is_none() {
    let half = Some(Duration::from_millis(500));
    let ever = Some(Duration::from_millis(u64::MAX));
    for (code, pushback, expected) in [
        ("14", "500", half),
        ("14", "-1", None),
        ("14", "99999999999999999999", ever),
        ("0", "500", None),
    ] {
        let trailers = [("grpc-status", code), ("grpc-retry-pushback-ms", pushback)];
        for script in [in_the_trailers(&trailers), in_the_head(&trailers)] {
            let (_, verdict) = call(&GrpcClassifier::default(), script, End::Silence).await;
            assert_eq!(verdict.retry_after, expected, "{trailers:?}");
        }
    }
}

#[tokio::test]
async fn a_proxy_that_speaks_no_grpc_has_the_outcome_of_its_status() {
    let wait = Verdict::from(THROTTLED).retry_after(Some(Duration::from_secs(2)));
    for (status, expected) in [
        (429, wait),
        (404, Outcome::Ignored.into()),
        (500, Outcome::Failure.into()),
        (204, Outcome::Failure.into()),
    ] {
        let script = headers(1, Some(status), &[("retry-after", "2")], true);
        let (known, verdict) = call(&GrpcClassifier::default(), script, End::Silence).await;
        assert_eq!(
            (known, verdict.outcome),
            (At::Head, expected.outcome),
            "{status}"
        );
        assert!(status != 429 || verdict == expected, "{verdict:?}");
    }
}

#[tokio::test]
async fn a_code_is_overruled() {
    let classifier = GrpcClassifier::default().code(8, Outcome::Ignored);
    let script = in_the_trailers(&[("grpc-status", "8")]);
    let found = call(&classifier, script, End::Silence).await;
    assert_eq!(found, (At::End, Outcome::Ignored.into()));
}

#[test]
#[should_panic(expected = "a gRPC code is a number from 0 to 16, not 17")]
fn a_number_that_is_no_code_is_refused() {
    let _ = GrpcClassifier::default().code(17, Outcome::Ignored);
}

#[cfg(feature = "tower-http")]
#[tokio::test]
async fn a_classifier_of_tower_http_waits_for_trailers_too() {
    use tidegate_classify::FromTowerHttp;
    use tower_http::classify::GrpcErrorsAsFailures;

    let classifier = FromTowerHttp::new(GrpcErrorsAsFailures::make_classifier());
    let unavailable = Outcome::Overload(Cause::Unavailable);
    let pushed_back = [("grpc-status", "8"), ("grpc-retry-pushback-ms", "500")];
    let wait = Verdict::from(THROTTLED).retry_after(Some(Duration::from_millis(500)));
    for (script, known, verdict) in [
        (
            in_the_head(&[("grpc-status", "14")]),
            At::Head,
            unavailable.into(),
        ),
        (in_the_trailers(&pushed_back), At::End, wait),
        (
            in_the_trailers(&[("grpc-status", "0")]),
            At::End,
            Outcome::Success.into(),
        ),
        (
            [begin(1), reset(1, CANCEL)].concat(),
            At::Error,
            CONNECTION.into(),
        ),
    ] {
        let found = call(&classifier, script, End::Silence).await;
        assert_eq!(found, (known, verdict));
    }
}
