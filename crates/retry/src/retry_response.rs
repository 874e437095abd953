use http::{Extensions, Response};
use http_body::Body;
use tidegate_classify::ResponseHead;

/// The response of a service that is tried again: an `http::Response` with a body, and
/// `reqwest::Response` with the feature `reqwest`. Not to be implemented elsewhere.
pub trait RetryResponse: ResponseHead + sealed::Response {}

impl<R: ResponseHead + sealed::Response> RetryResponse for R {}

pub(crate) mod sealed {
    use super::{Body, Extensions};

    pub trait Response {
        type Body: Body;

        fn extensions(&self) -> &Extensions;
        fn extensions_mut(&mut self) -> &mut Extensions;
        fn into_body(self) -> Self::Body;
    }
}

impl<B: Body> sealed::Response for Response<B> {
    type Body = B;

    fn extensions(&self) -> &Extensions {
        self.extensions()
    }

    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }

    fn into_body(self) -> B {
        self.into_body()
    }
}

#[cfg(feature = "reqwest")]
impl sealed::Response for reqwest::Response {
    type Body = reqwest::Body;

    fn extensions(&self) -> &Extensions {
        self.extensions()
    }

    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }

    fn into_body(self) -> reqwest::Body {
        Response::from(self).into_body()
    }
}
