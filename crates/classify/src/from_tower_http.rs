use std::error::Error;
use std::fmt;

use http::{HeaderMap, Request, Response};
use tidegate_core::Outcome;
use tower_http::classify::{
    ClassifiedResponse, ClassifyEos, ClassifyResponse, GrpcFailureClass, MakeClassifier,
    ServerErrorsFailureClass, StatusInRangeFailureClass,
};

use crate::{Classify, Verdict, When, errors, grpc_classifier, table};

/// A classifier of tower-http, such as one that already serves a `TraceLayer`.
///
/// tower-http says what failed, and a failure's class says how: a status by the table of
/// [`HttpClassifier`](crate::HttpClassifier), a gRPC code by that of
/// [`GrpcClassifier`](crate::GrpcClassifier). What it holds for a success is one: its
/// `ServerErrorsAsFailures` knows no 429. `retry_after` is that of the headers or trailers.
///
/// Errors have the outcomes of [`errors`]: tower-http keeps their words alone.
///
/// ```
/// use tidegate_classify::FromTowerHttp;
/// use tidegate_core::{Cause, Outcome};
/// use tower_http::classify::{StatusInRangeAsFailures, StatusInRangeFailureClass};
///
/// let make = StatusInRangeAsFailures::new(400..=599).into_make_classifier();
/// let classifier = FromTowerHttp::new(make.clone());
///
/// let classifier = FromTowerHttp::with(make, |class| match class {
///     StatusInRangeFailureClass::StatusCode(status) if status == 403 => {
///         Outcome::Overload(Cause::Throttled).into()
///     }
///     class => class.into(),
/// });
/// ```
#[derive(Clone)]
pub struct FromTowerHttp<M, F> {
    make: M,
    verdict: F,
}

impl<M> FromTowerHttp<M, fn(M::FailureClass) -> Verdict>
where
    M: MakeClassifier,
    M::FailureClass: Into<Verdict>,
{
    /// With the verdict of a class, as [`Into`] gives it.
    pub fn new(make: M) -> Self {
        Self {
            make,
            verdict: Into::into,
        }
    }
}

impl<M, F> FromTowerHttp<M, F>
where
    M: MakeClassifier,
    F: Fn(M::FailureClass) -> Verdict,
{
    /// With the verdict of a class by a closure.
    pub fn with(make: M, verdict: F) -> Self {
        Self { make, verdict }
    }

    fn of(&self, result: Result<(), M::FailureClass>) -> Verdict {
        match result {
            Ok(()) => Outcome::Success.into(),
            Err(class) => (self.verdict)(class),
        }
    }
}

impl<M: fmt::Debug, F> fmt::Debug for FromTowerHttp<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromTowerHttp")
            .field("make", &self.make)
            .finish_non_exhaustive()
    }
}

impl<M, F, A, B> Classify<Request<A>, Response<B>> for FromTowerHttp<M, F>
where
    M: MakeClassifier,
    F: Fn(M::FailureClass) -> Verdict,
{
    /// What is to classify the head, then the end.
    type Call = (Option<M::Classifier>, Option<M::ClassifyEos>);

    fn request(&self, request: &Request<A>) -> Self::Call {
        (Some(self.make.make_classifier(request)), None)
    }

    fn response(&self, (head, end): &mut Self::Call, response: &Response<B>) -> When {
        let classified = head.take().map(|head| head.classify_response(response));
        match classified {
            Some(ClassifiedResponse::Ready(result)) => {
                self.of(result).pushed_back_by(response.headers()).into()
            }
            Some(ClassifiedResponse::RequiresEos(eos)) => {
                *end = Some(eos);
                When::AtEnd
            }
            None => Outcome::Ignored.into(),
        }
    }

    fn error(&self, _: &mut Self::Call, error: &(dyn Error + 'static)) -> Verdict {
        errors::outcome(error).into()
    }

    fn end(&self, (_, end): &mut Self::Call, trailers: Option<&HeaderMap>) -> Verdict {
        let Some(end) = end.take() else {
            return Outcome::Ignored.into();
        };
        let verdict = self.of(end.classify_eos(trailers));
        match trailers {
            Some(trailers) => verdict.pushed_back_by(trailers),
            None => verdict,
        }
    }
}

impl From<ServerErrorsFailureClass> for Verdict {
    fn from(class: ServerErrorsFailureClass) -> Self {
        match class {
            ServerErrorsFailureClass::StatusCode(status) => table::outcome(status).into(),
            ServerErrorsFailureClass::Error(_) => Outcome::Failure.into(),
        }
    }
}

impl From<StatusInRangeFailureClass> for Verdict {
    fn from(class: StatusInRangeFailureClass) -> Self {
        match class {
            StatusInRangeFailureClass::StatusCode(status) => table::outcome(status).into(),
            StatusInRangeFailureClass::Error(_) => Outcome::Failure.into(),
        }
    }
}

impl From<GrpcFailureClass> for Verdict {
    fn from(class: GrpcFailureClass) -> Self {
        match class {
            GrpcFailureClass::Code(code) => {
                let code = usize::try_from(code.get()).unwrap_or(usize::MAX);
                grpc_classifier::outcome(code).into()
            }
            GrpcFailureClass::Error(_) => Outcome::Failure.into(),
        }
    }
}
