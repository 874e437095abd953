//! What a span has in it.

use std::time::Duration;

use http::StatusCode;
use tidegate_classify::{METHODS, RequestHead, errors, method_index};
use tidegate_core::{Error, Outcome, Refused, text};
use tidegate_retry::{Attempt, GaveUp, GaveUpReason};
use tracing::field::Empty;
use tracing::{Span, debug_span};

/// Disabled where nobody listens.
pub(crate) fn of<Request: RequestHead>(request: &Request, stack: Option<&str>) -> Span {
    let method = METHODS[method_index(request.method())];
    debug_span!(
        target: "tidegate",
        "request",
        otel.kind = "client",
        otel.name = method,
        http.request.method = method,
        server.address = text::name(request.destination().0),
        server.port = request.destination().1,
        http.request.resend_count = resends(Attempt::current()),
        http.response.status_code = Empty,
        "error.type" = Empty,
        tidegate.stack = stack,
        tidegate.gave_up = Empty,
        tidegate.refused_by = Empty,
        tidegate.refused_because = Empty,
        tidegate.wait_ms = Empty,
    )
}

fn resends(attempt: Option<Attempt>) -> Option<u32> {
    let resends = attempt.map(|attempt| attempt.number.saturating_sub(1));
    resends.filter(|resends| *resends > 0)
}

/// It is over; above a retry, after so many resends.
pub(crate) fn over(span: &Span, waited: Duration, resends: u32) {
    span.record("tidegate.wait_ms", 1_000.0 * waited.as_secs_f64());
    if resends > 0 {
        span.record("http.request.resend_count", resends);
    }
}

/// With why a retry gave it to its caller, if that was told to an observer of ours.
pub(crate) fn answered(span: &Span, status: StatusCode, gave_up: Option<&'static str>) {
    span.record("http.response.status_code", status.as_u16());
    if let Some(why) = gave_up {
        span.record("tidegate.gave_up", why);
    }
    if is_error(status) {
        failed(span, status.as_str());
    }
}

fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

/// Not in its own words, which may have the whole URL in them.
pub(crate) fn ended(span: &Span, error: &Error) {
    let gave_up = error.find::<GaveUp>();
    if let Some(gave_up) = gave_up {
        span.record("tidegate.gave_up", gave_up.reason.name());
    }
    let unsent = error.refused();
    if let Some(refused) = unsent.or_else(|| refused_retry(gave_up?)) {
        span.record("tidegate.refused_by", refused.by);
        span.record("tidegate.refused_because", refused.reason.name());
    }
    let status = gave_up.and_then(|gave_up| gave_up.status);
    if let Some(status) = status {
        span.record("http.response.status_code", status.as_u16());
    }
    match (
        status.filter(|status| is_error(*status)),
        errors::outcome(error),
    ) {
        _ if unsent.is_some() => failed(span, "refused"),
        (Some(status), _) => failed(span, status.as_str()),
        (None, Outcome::Overload(cause)) => failed(span, cause.name()),
        (None, _) => failed(span, "_OTHER"),
    }
}

/// Something was sent, and a layer below refused the attempt after it.
fn refused_retry(gave_up: &GaveUp) -> Option<&Refused> {
    match &gave_up.reason {
        GaveUpReason::Refused(refused) => Some(refused),
        _ => None,
    }
}

/// How often it was sent again, if a retry below gave up on it.
pub(crate) fn resent(error: &Error) -> Option<u32> {
    let gave_up = error.find::<GaveUp>()?;
    Some(gave_up.attempts.saturating_sub(1))
}

fn failed(span: &Span, of_type: &str) {
    span.record("error.type", of_type);
}

/// Its caller gave up.
pub(crate) fn cancelled(span: &Span) {
    failed(span, "cancelled");
}
