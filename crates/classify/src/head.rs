use http::{HeaderMap, Method, StatusCode};

use crate::Peeked;

/// What a classifier reads of a request: `http::Request<B>`, and `reqwest::Request` with the feature
/// `reqwest`. Not to be implemented elsewhere.
pub trait RequestHead: Sealed {
    /// Its method.
    fn method(&self) -> &Method;

    /// The path of its target, without the query.
    fn path(&self) -> &str;
}

/// What a classifier reads of a response: `http::Response<B>`, and `reqwest::Response` with the
/// feature `reqwest`. Not to be implemented elsewhere.
pub trait ResponseHead: Sealed {
    /// Its status.
    fn status(&self) -> StatusCode;

    /// Its headers.
    fn headers(&self) -> &HeaderMap;

    /// The first bytes of its body, where a layer has peeked at them.
    fn peeked(&self) -> Option<&Peeked>;
}

pub trait Sealed {}

impl<B> Sealed for http::Request<B> {}
impl<B> Sealed for http::Response<B> {}
#[cfg(feature = "reqwest")]
impl Sealed for reqwest::Request {}
#[cfg(feature = "reqwest")]
impl Sealed for reqwest::Response {}

impl<B> RequestHead for http::Request<B> {
    fn method(&self) -> &Method {
        self.method()
    }

    fn path(&self) -> &str {
        self.uri().path()
    }
}

impl<B> ResponseHead for http::Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn peeked(&self) -> Option<&Peeked> {
        self.extensions().get()
    }
}

#[cfg(feature = "reqwest")]
impl RequestHead for reqwest::Request {
    fn method(&self) -> &Method {
        self.method()
    }

    fn path(&self) -> &str {
        self.url().path()
    }
}

#[cfg(feature = "reqwest")]
impl ResponseHead for reqwest::Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }

    fn peeked(&self) -> Option<&Peeked> {
        self.extensions().get()
    }
}
