use std::error::Error;

use http::HeaderMap;
use tidegate_core::Outcome;

use crate::Verdict;

/// Says what the answer to a request means: the sensor of a control loop.
///
/// The methods are called in order, on one shared classifier, for each call: [`request`](Self::request);
/// then either [`error`](Self::error) or [`response`](Self::response); and after a response whose
/// outcome is known only [at the end](When::AtEnd), [`end`](Self::end). A body that fails after its
/// outcome was known is an [`error`](Self::error).
///
/// A closure over the result is a classifier. Its argument needs its type written out:
///
/// ```
/// use tidegate_classify::{Answer, Classify};
/// use tidegate_core::{Cause, Outcome};
///
/// fn classifier() -> impl Classify<String, u32> {
///     |answer: Answer<'_, u32>| match answer {
///         Ok(0) => Outcome::Overload(Cause::Throttled),
///         Ok(_) => Outcome::Success,
///         Err(_) => Outcome::Failure,
///     }
/// }
/// # classifier();
/// ```
pub trait Classify<Req, Res> {
    /// What it keeps of one call; `()` where the answer alone tells.
    type Call;

    /// A request is about to be sent.
    fn request(&self, request: &Req) -> Self::Call;

    /// The head of a response is there.
    fn response(&self, call: &mut Self::Call, response: &Res) -> When;

    /// There will be no response, or its body failed.
    fn error(&self, call: &mut Self::Call, error: &(dyn Error + 'static)) -> Verdict;

    /// The body of a response whose outcome was to be known then has ended, with these trailers.
    /// Default: it succeeded. (A body that is dropped before its end is not the classifier's.)
    fn end(&self, call: &mut Self::Call, trailers: Option<&HeaderMap>) -> Verdict {
        let _ = (call, trailers);
        Outcome::Success.into()
    }
}

/// What a closure classifies: a response, or why there is none.
pub type Answer<'a, Res> = Result<&'a Res, &'a (dyn Error + 'static)>;

/// When the outcome of a response is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At its head.
    Now(Verdict),
    /// At the end of its body, such as that of a gRPC call.
    AtEnd,
}

impl<V: Into<Verdict>> From<V> for When {
    fn from(verdict: V) -> Self {
        Self::Now(verdict.into())
    }
}

impl<F, V, Req, Res> Classify<Req, Res> for F
where
    F: for<'a> Fn(Answer<'a, Res>) -> V,
    V: Into<Verdict>,
{
    type Call = ();

    fn request(&self, _request: &Req) {}

    fn response(&self, (): &mut (), response: &Res) -> When {
        self(Ok(response)).into().into()
    }

    fn error(&self, (): &mut (), error: &(dyn Error + 'static)) -> Verdict {
        self(Err(error)).into()
    }
}
