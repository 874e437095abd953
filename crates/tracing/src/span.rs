//! What a span has in it.

use std::time::Duration;

use http::Method;
use tidegate_classify::{RequestHead, errors};
use tidegate_core::{Error, Outcome, text};
use tidegate_retry::Attempt;
use tracing::field::Empty;
use tracing::{Span, debug_span};

/// Disabled where nobody listens.
pub(crate) fn of<Request: RequestHead>(request: &Request) -> Span {
    debug_span!(
        target: "tidegate",
        "request",
        otel.kind = "client",
        otel.name = method(request.method()),
        http.request.method = method(request.method()),
        server.address = text::name(request.destination().0),
        server.port = request.destination().1,
        http.request.resend_count = resends(Attempt::current()),
        http.response.status_code = Empty,
        "error.type" = Empty,
        tidegate.refused_by = Empty,
        tidegate.refused_because = Empty,
        tidegate.wait_ms = Empty,
    )
}

/// Those that OpenTelemetry knows: a method may be any text.
const METHODS: [&str; 9] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];

fn method(method: &Method) -> &'static str {
    let known = METHODS.into_iter().find(|known| *known == method.as_str());
    known.unwrap_or("_OTHER")
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

pub(crate) fn answered(span: &Span, status: http::StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_client_error() || status.is_server_error() {
        failed(span, status.as_str());
    }
}

/// Not in its own words, which may have the whole URL in them.
pub(crate) fn ended(span: &Span, error: &Error) {
    if let Some(refused) = error.refused() {
        failed(span, "refused");
        span.record("tidegate.refused_by", refused.by);
        span.record("tidegate.refused_because", refused.reason.name());
        return;
    }
    failed(
        span,
        match errors::outcome(error) {
            Outcome::Overload(cause) => cause.name(),
            _ => "_OTHER",
        },
    );
}

fn failed(span: &Span, of_type: &str) {
    span.record("error.type", of_type);
}

/// Its caller gave up.
pub(crate) fn cancelled(span: &Span) {
    failed(span, "cancelled");
}
