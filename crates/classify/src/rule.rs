use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tidegate_core::Outcome;

use crate::{Peeked, ResponseHead, Verdict};

type OnHead = dyn Fn(StatusCode, &HeaderMap) -> Option<Verdict> + Send + Sync;
type OnBody = dyn Fn(StatusCode, &[u8]) -> Option<Verdict> + Send + Sync;
type OnError = dyn Fn(&(dyn Error + 'static)) -> Option<Verdict> + Send + Sync;

/// One thing that a classifier was told.
#[derive(Clone)]
pub(crate) enum Rule {
    Status(RangeInclusive<u16>, Outcome),
    Header(HeaderName, Outcome),
    HeaderIs(HeaderName, HeaderValue, Outcome),
    Head(Arc<OnHead>),
    Body(Arc<OnBody>),
    Error(Arc<OnError>),
}

impl Rule {
    pub(crate) fn response(&self, response: &impl ResponseHead) -> Option<Verdict> {
        let (status, headers) = (response.status(), response.headers());
        match self {
            Self::Status(statuses, outcome) => statuses
                .contains(&status.as_u16())
                .then(|| (*outcome).into()),
            Self::Header(name, outcome) => headers.contains_key(name).then(|| (*outcome).into()),
            Self::HeaderIs(name, value, outcome) => headers
                .get_all(name)
                .iter()
                .any(|found| found == value)
                .then(|| (*outcome).into()),
            Self::Head(closure) => closure(status, headers),
            Self::Body(closure) => {
                let Peeked(body) = response.peeked()?;
                closure(status, body)
            }
            Self::Error(_) => None,
        }
    }

    pub(crate) fn error(&self, error: &(dyn Error + 'static)) -> Option<Verdict> {
        match self {
            Self::Error(closure) => closure(error),
            _ => None,
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(statuses, outcome) => write!(f, "{statuses:?} => {outcome:?}"),
            Self::Header(name, outcome) => write!(f, "{name} => {outcome:?}"),
            Self::HeaderIs(name, value, outcome) => write!(f, "{name}: {value:?} => {outcome:?}"),
            Self::Head(_) => f.write_str("closure over a response"),
            Self::Body(_) => f.write_str("closure over a body"),
            Self::Error(_) => f.write_str("closure over an error"),
        }
    }
}
