//! Classifiers of tower-http as ours.

use std::io;
use std::time::Duration;

use http::{Request, Response};
use tidegate_classify::{Classify, FromTowerHttp, Verdict, When};
use tidegate_core::{Cause, Outcome};
use tower_http::classify::{
    ServerErrorsAsFailures, StatusInRangeAsFailures, StatusInRangeFailureClass,
};

const THROTTLED: Outcome = Outcome::Overload(Cause::Throttled);

fn at_head<C>(classifier: &C, status: u16) -> When
where
    C: Classify<Request<()>, Response<()>>,
{
    let mut call = classifier.request(&Request::new(()));
    let response = Response::builder()
        .status(status)
        .header("retry-after", "3");
    classifier.response(&mut call, &response.body(()).unwrap())
}

#[test]
fn a_failure_of_the_server_has_the_outcome_of_its_status_and_a_429_is_a_success() {
    let classifier = FromTowerHttp::new(ServerErrorsAsFailures::make_classifier());
    let wait = Some(Duration::from_secs(3));
    for (status, expected) in [
        (200, Outcome::Success.into()),
        (429, Outcome::Success.into()),
        (500, Verdict::from(Outcome::Failure).retry_after(wait)),
        (
            503,
            Verdict::from(Outcome::Overload(Cause::Unavailable)).retry_after(wait),
        ),
    ] {
        assert_eq!(
            at_head(&classifier, status),
            When::Now(expected),
            "{status}"
        );
    }
}

#[test]
fn a_closure_says_what_a_class_means() {
    let make = StatusInRangeAsFailures::new(400..=499).into_make_classifier();
    let classifier = FromTowerHttp::with(make, |class| match class {
        StatusInRangeFailureClass::StatusCode(status) if status == 403 => THROTTLED.into(),
        class => class.into(),
    });
    for (status, expected) in [
        (403, THROTTLED),
        (404, Outcome::Ignored),
        (429, THROTTLED),
        (503, Outcome::Success),
    ] {
        let When::Now(verdict) = at_head(&classifier, status) else {
            panic!("known at the head");
        };
        assert_eq!(verdict.outcome, expected, "{status}");
    }
}

#[test]
fn an_error_is_known_by_its_type_and_not_by_its_words() {
    let classifier = FromTowerHttp::new(ServerErrorsAsFailures::make_classifier());
    let mut call = Classify::<_, Response<()>>::request(&classifier, &Request::new(()));
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let verdict = Classify::<Request<()>, Response<()>>::error(&classifier, &mut call, &reset);
    assert_eq!(verdict, Outcome::Overload(Cause::Connection).into());
}
