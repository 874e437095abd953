//! What `HttpClassifier` says of responses, and which rule comes first.

use std::io;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use tidegate_classify::{Classify, HttpClassifier, Verdict, When};
use tidegate_core::{Cause, Error, Outcome, Refused, RefusedReason};

const THROTTLED: Outcome = Outcome::Overload(Cause::Throttled);
const UNAVAILABLE: Outcome = Outcome::Overload(Cause::Unavailable);
const TIMED_OUT: Outcome = Outcome::Overload(Cause::TimedOut);

fn verdict(
    classifier: &HttpClassifier,
    (method, path): (Method, &str),
    response: &Response<()>,
) -> Verdict {
    let request = Request::builder().method(method).uri(path).body(());
    let mut call = Classify::<_, Response<()>>::request(classifier, &request.unwrap());
    match Classify::<Request<()>, _>::response(classifier, &mut call, response) {
        When::Now(verdict) => verdict,
        When::AtEnd => panic!("the outcome of a status is known at once"),
    }
}

fn status(code: u16) -> Response<()> {
    with_headers(code, &[])
}

fn with_headers(code: u16, headers: &[(&str, &str)]) -> Response<()> {
    let mut response = Response::builder().status(code);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap()
}

fn outcome(classifier: &HttpClassifier, response: &Response<()>) -> Outcome {
    verdict(classifier, (Method::GET, "/"), response).outcome
}

fn of_error(classifier: &HttpClassifier, error: &(dyn std::error::Error + 'static)) -> Verdict {
    Classify::<Request<()>, Response<()>>::error(classifier, &mut None, error)
}

#[test]
fn a_status_has_its_outcome_where_nothing_else_was_said() {
    let classifier = HttpClassifier::default();
    for (code, expected) in [
        (101, Outcome::Success),
        (200, Outcome::Success),
        (304, Outcome::Success),
        (400, Outcome::Ignored),
        (403, Outcome::Ignored),
        (404, Outcome::Ignored),
        (408, TIMED_OUT),
        (420, Outcome::Ignored),
        (429, THROTTLED),
        (499, Outcome::Ignored),
        (500, Outcome::Failure),
        (502, UNAVAILABLE),
        (503, UNAVAILABLE),
        (504, TIMED_OUT),
        (509, Outcome::Failure),
        (529, UNAVAILABLE),
        (999, Outcome::Failure),
    ] {
        assert_eq!(outcome(&classifier, &status(code)), expected, "{code}");
    }
}

#[test]
fn statuses_are_overruled_one_by_one_by_list_and_by_range() {
    let classifier = HttpClassifier::default()
        .throttled([403, 420, 509])
        .at_capacity(429)
        .status(StatusCode::NOT_FOUND, Outcome::Success)
        .status(520..=524, TIMED_OUT);
    for (code, expected) in [
        (403, THROTTLED),
        (420, THROTTLED),
        (509, THROTTLED),
        (429, UNAVAILABLE),
        (404, Outcome::Success),
        (519, Outcome::Failure),
        (520, TIMED_OUT),
        (524, TIMED_OUT),
        (525, Outcome::Failure),
    ] {
        assert_eq!(outcome(&classifier, &status(code)), expected, "{code}");
    }
}

#[test]
fn the_rule_added_last_is_asked_first() {
    let base = HttpClassifier::default()
        .status(500..=599, Outcome::Failure)
        .status(503, THROTTLED);
    assert_eq!(outcome(&base, &status(503)), THROTTLED);

    let marked = with_headers(503, &[("x-broken", "")]);
    let by_header = base.clone().header("X-Broken", Outcome::Failure);
    assert_eq!(outcome(&by_header, &marked), Outcome::Failure);
    assert_eq!(outcome(&by_header, &status(503)), THROTTLED);
    let by_status = by_header.clone().status(503, TIMED_OUT);
    assert_eq!(outcome(&by_status, &marked), TIMED_OUT);

    let by_closure = by_header.with(|status, _| (status == 503).then_some(Outcome::Ignored));
    assert_eq!(outcome(&by_closure, &marked), Outcome::Ignored);
    assert_eq!(outcome(&by_closure, &status(502)), Outcome::Failure);
}

#[test]
fn a_header_has_its_value_when_one_of_several_is_it() {
    let classifier = HttpClassifier::default().header_is("x-error", "throttled", THROTTLED);
    for (headers, expected) in [
        (&[][..], Outcome::Success),
        (&[("x-error", "none")], Outcome::Success),
        (&[("x-error", "throttled")], THROTTLED),
        (&[("x-error", "none"), ("x-error", "throttled")], THROTTLED),
        (&[("x-error", "throttled by nobody")], Outcome::Success),
    ] {
        let response = with_headers(200, headers);
        assert_eq!(outcome(&classifier, &response), expected, "{headers:?}");
    }
}

#[test]
fn a_route_comes_before_the_general_rules_and_these_before_the_table() {
    let classifier = HttpClassifier::default()
        .on("/search", |search| search.throttled(403))
        .on((Method::POST, "/search"), |posted| posted.at_capacity(429))
        .on(Method::DELETE, |deleted| deleted.status(409, UNAVAILABLE))
        .status([403, 409], Outcome::Failure);
    for (method, path, code, expected) in [
        (Method::GET, "/search?q=1", 403, THROTTLED),
        (Method::GET, "/search/users", 403, THROTTLED),
        (Method::GET, "/searching", 403, Outcome::Failure),
        // The route added last takes the request, and leaves to the general rules what it does not say.
        (Method::POST, "/search", 403, Outcome::Failure),
        (Method::POST, "/search", 429, UNAVAILABLE),
        (Method::GET, "/search", 429, THROTTLED),
        (Method::DELETE, "/search", 409, UNAVAILABLE),
        (Method::DELETE, "/search", 403, Outcome::Failure),
        (Method::DELETE, "/search", 503, UNAVAILABLE),
        (Method::GET, "/users", 404, Outcome::Ignored),
    ] {
        let found = verdict(&classifier, (method.clone(), path), &status(code)).outcome;
        assert_eq!(found, expected, "{method} {path} {code}");
    }
}

#[test]
fn a_route_may_overrule_errors() {
    let classifier =
        HttpClassifier::default().on("/poll", |poll| poll.error(|_| Some(Outcome::Ignored)));
    let poll = Request::get("/poll").body(()).unwrap();
    let mut call = Classify::<_, Response<()>>::request(&classifier, &poll);
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    let polled = Classify::<Request<()>, Response<()>>::error(&classifier, &mut call, &reset);
    assert_eq!(polled.outcome, Outcome::Ignored);
    let other = of_error(&classifier, &reset).outcome;
    assert_eq!(other, Outcome::Overload(Cause::Connection));
}

#[test]
fn a_refusal_of_ours_is_ignored_whatever_a_closure_says() {
    let classifier = HttpClassifier::default().error(|_| Some(Outcome::Failure));
    let refused = Error::from(Refused::new("gate", RefusedReason::NoRoom));
    assert_eq!(of_error(&classifier, &refused).outcome, Outcome::Ignored);
    let other = of_error(&classifier, &std::fmt::Error).outcome;
    assert_eq!(other, Outcome::Failure);
}

#[test]
fn a_wait_is_told_by_all_but_successes() {
    let classifier = HttpClassifier::default();
    for (code, expected) in [(200, None), (403, Some(7)), (429, Some(7)), (500, Some(7))] {
        let response = with_headers(code, &[("retry-after", "7")]);
        let found = verdict(&classifier, (Method::GET, "/"), &response).retry_after;
        assert_eq!(found, expected.map(Duration::from_secs), "{code}");
    }
}

#[test]
fn a_wait_until_a_date_counts_from_the_date_of_the_response() {
    let headers = [
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
    ];
    let response = with_headers(503, &headers);
    let found = verdict(&HttpClassifier::default(), (Method::GET, "/"), &response);
    assert_eq!(found.retry_after, Some(Duration::from_secs(30)));
}

#[test]
fn the_wait_of_a_closure_comes_before_that_of_the_headers() {
    let minute = Duration::from_secs(60);
    let classifier = HttpClassifier::default().with(move |status, _| {
        (status == 403).then(|| Verdict::from(THROTTLED).retry_after(Some(minute)))
    });
    let response = with_headers(403, &[("retry-after", "7")]);
    let found = verdict(&classifier, (Method::GET, "/"), &response);
    assert_eq!(found, Verdict::from(THROTTLED).retry_after(Some(minute)));
}

#[test]
#[should_panic(expected = "a status is a number from 100 to 999")]
fn a_number_that_is_no_status_is_refused() {
    let _ = HttpClassifier::default().throttled(42);
}

#[test]
#[should_panic(expected = "a range holds at least one")]
#[expect(clippy::reversed_empty_ranges, reason = "it is the mistake")]
fn an_empty_range_is_refused() {
    let _ = HttpClassifier::default().status(599..=500, Outcome::Failure);
}

#[test]
#[should_panic(expected = "\"no header\" is no header name")]
fn a_header_that_cannot_be_is_refused() {
    let _ = HttpClassifier::default().header("no header", Outcome::Failure);
}

#[test]
#[should_panic(expected = "a path starts with /")]
fn a_path_without_a_slash_is_refused() {
    let _ = HttpClassifier::default().on("search", |rules| rules);
}

#[test]
#[should_panic(expected = "a route has no routes of its own")]
fn nested_routes_are_refused() {
    let _ = HttpClassifier::default().on("/a", |a| a.on("/b", |b| b));
}
