use http::{HeaderMap, Request};
use tidegate_classify::RequestHead;

use crate::{Attempt, RetryBody};

/// A request that may be sent again: an `http::Request` with a [`RetryBody`], and `reqwest::Request`
/// with the feature `reqwest`. Not to be implemented elsewhere.
pub trait RetryRequest: RequestHead + sealed::Request {}

impl<R: RequestHead + sealed::Request> RetryRequest for R {}

pub(crate) mod sealed {
    use super::{Attempt, HeaderMap};

    pub trait Request: Sized {
        fn headers(&self) -> &HeaderMap;

        /// The same with its body from the beginning, if it can be had. Its extensions too.
        fn try_clone(&self) -> Option<Self>;

        /// Whether this one, of which a clone was sent, can still be sent whole.
        fn is_whole(&self) -> bool;

        /// Which attempt of a retry above it is.
        fn attempt(&self) -> Option<Attempt>;

        fn set_attempt(&mut self, attempt: Attempt);
    }
}

impl<B: RetryBody> sealed::Request for Request<B> {
    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn try_clone(&self) -> Option<Self> {
        let mut clone = Self::new(self.body().try_clone()?);
        clone.method_mut().clone_from(self.method());
        clone.uri_mut().clone_from(self.uri());
        *clone.version_mut() = self.version();
        clone.headers_mut().clone_from(self.headers());
        clone.extensions_mut().clone_from(self.extensions());
        Some(clone)
    }

    fn is_whole(&self) -> bool {
        self.body().is_whole()
    }

    fn attempt(&self) -> Option<Attempt> {
        self.extensions().get().copied()
    }

    fn set_attempt(&mut self, attempt: Attempt) {
        self.extensions_mut().insert(attempt);
    }
}

/// Its extensions are its own, so that an attempt is known by the task.
#[cfg(feature = "reqwest")]
impl sealed::Request for reqwest::Request {
    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn try_clone(&self) -> Option<Self> {
        self.try_clone()
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn attempt(&self) -> Option<Attempt> {
        Attempt::current()
    }

    fn set_attempt(&mut self, _: Attempt) {}
}
