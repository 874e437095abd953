use std::error::Error;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tidegate_core::{Cause, Outcome};

use crate::{Classify, ResponseHead, Verdict, When, errors, table};

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// Classifies gRPC calls by their `grpc-status`: in the head where there is no body, else at the
/// end, in the trailers.
///
/// | code | outcome |
/// |---|---|
/// | 0 `OK` | `Success` |
/// | 8 `RESOURCE_EXHAUSTED` | `Overload(Throttled)` |
/// | 14 `UNAVAILABLE` | `Overload(Unavailable)` |
/// | 4 `DEADLINE_EXCEEDED` | `Overload(TimedOut)` |
/// | 1 `CANCELLED`, 3 `INVALID_ARGUMENT`, 5 `NOT_FOUND`, 6 `ALREADY_EXISTS`, 7 `PERMISSION_DENIED`, 9 `FAILED_PRECONDITION`, 10 `ABORTED`, 11 `OUT_OF_RANGE`, 16 `UNAUTHENTICATED` | `Ignored`: the caller's mistake |
/// | 2 `UNKNOWN`, 12 `UNIMPLEMENTED`, 13 `INTERNAL`, 15 `DATA_LOSS`, and all others | `Failure` |
///
/// It is the table of [`HttpClassifier`](crate::HttpClassifier) by the HTTP status that google.rpc.Code
/// gives each code (8 is 429, 14 is 503, …), and a response without a code and not of status 200, such
/// as that of a proxy, has the outcome of its status. A call that ends without a code is a `Failure`.
///
/// `retry_after` is `grpc-retry-pushback-ms` (gRFC A6), or else `Retry-After`. A negative pushback
/// asks not to try this call again, and asks for no wait.
///
/// Errors have the outcomes of [`errors`].
///
/// ```
/// use tidegate_classify::GrpcClassifier;
/// use tidegate_core::Outcome;
///
/// // grpc-go answers 8 also for a message that is too large.
/// let classifier = GrpcClassifier::default().code(8, Outcome::Ignored);
/// ```
#[derive(Clone, Debug)]
pub struct GrpcClassifier([Outcome; CODES]);

const CODES: usize = 17;

impl Default for GrpcClassifier {
    fn default() -> Self {
        Self(std::array::from_fn(outcome))
    }
}

/// What a code says where nothing else was said.
pub(crate) fn outcome(code: usize) -> Outcome {
    match code {
        0 => Outcome::Success,
        4 => Outcome::Overload(Cause::TimedOut),
        8 => Outcome::Overload(Cause::Throttled),
        14 => Outcome::Overload(Cause::Unavailable),
        1 | 3 | 5..=7 | 9..=11 | 16 => Outcome::Ignored,
        _ => Outcome::Failure,
    }
}

impl GrpcClassifier {
    /// This code means `outcome`.
    ///
    /// # Panics
    ///
    /// If `code` is above 16.
    #[must_use]
    #[track_caller]
    pub fn code(mut self, code: u8, outcome: Outcome) -> Self {
        assert!(
            usize::from(code) < CODES,
            "a gRPC code is a number from 0 to 16, not {code}"
        );
        self.0[usize::from(code)] = outcome;
        self
    }

    /// The verdict of the code among headers or trailers, if there is one.
    fn verdict(&self, headers: &HeaderMap) -> Option<Verdict> {
        let code = digits(headers.get(STATUS)?).and_then(|code| usize::try_from(code).ok());
        let outcome = code.and_then(|code| self.0.get(code).copied());
        let verdict = Verdict::from(outcome.unwrap_or(Outcome::Failure));
        Some(verdict.pushed_back_by(headers))
    }
}

impl<Req, Res: ResponseHead> Classify<Req, Res> for GrpcClassifier {
    type Call = ();

    fn request(&self, _request: &Req) {}

    fn response(&self, (): &mut (), response: &Res) -> When {
        let headers = response.headers();
        if let Some(verdict) = self.verdict(headers) {
            return verdict.into();
        }
        let outcome = match table::outcome(response.status()) {
            Outcome::Success if response.status() == StatusCode::OK => return When::AtEnd,
            Outcome::Success => Outcome::Failure,
            other => other,
        };
        Verdict::from(outcome).pushed_back_by(headers).into()
    }

    fn error(&self, (): &mut (), error: &(dyn Error + 'static)) -> Verdict {
        errors::outcome(error).into()
    }

    fn end(&self, (): &mut (), trailers: Option<&HeaderMap>) -> Verdict {
        trailers
            .and_then(|trailers| self.verdict(trailers))
            .unwrap_or(Outcome::Failure.into())
    }
}

impl Verdict {
    /// With the wait that gRPC's headers or trailers ask for, unless it is a success.
    pub(crate) fn pushed_back_by(self, headers: &HeaderMap) -> Self {
        let pushback = headers.get(PUSHBACK).filter(|_| !self.outcome.is_success());
        match pushback.and_then(digits) {
            Some(millis) => self.retry_after(Some(Duration::from_millis(millis))),
            None => self.hinted_by(headers),
        }
    }
}

/// A whole number; one that is too large is the largest.
fn digits(value: &HeaderValue) -> Option<u64> {
    let text = value.to_str().ok()?;
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The HTTP status of each code in google.rpc.Code, from 0 to 16.
    const HTTP: [u16; CODES] = [
        200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
    ];

    #[test]
    fn a_code_says_what_its_http_status_says() {
        for (code, status) in HTTP.into_iter().enumerate() {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(outcome(code), table::outcome(status), "{code}");
        }
        assert_eq!(outcome(17), Outcome::Failure);
    }

    #[test]
    fn only_a_whole_number_is_one_and_a_long_one_saturates() {
        let long = "9".repeat(400);
        for (text, expected) in [
            ("7", Some(7)),
            ("0", Some(0)),
            (&*long, Some(u64::MAX)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("soon", None),
        ] {
            let value = HeaderValue::from_str(text).unwrap();
            assert_eq!(digits(&value), expected, "{text:?}");
        }
    }
}
