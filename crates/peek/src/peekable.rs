use bytes::Bytes;
use http::Response;
use http::response::Parts;
use http_body::Body;

use crate::PeekedBody;

/// A response whose first bytes can be seen: `http::Response<B>`, and `reqwest::Response` with the
/// feature `reqwest`. Not to be implemented elsewhere.
pub trait Peekable: sealed::Sealed {
    /// Its body.
    type Body: Body<Data = Bytes> + Unpin;
    /// What the caller gets.
    type Output;

    /// Takes it apart.
    fn take_apart(self) -> (Parts, Self::Body);

    /// Puts it together again.
    fn put_together(parts: Parts, body: PeekedBody<Self::Body>) -> Self::Output;
}

mod sealed {
    pub trait Sealed {}
    impl<B> Sealed for http::Response<B> {}
    #[cfg(feature = "reqwest")]
    impl Sealed for reqwest::Response {}
}

impl<B: Body<Data = Bytes> + Unpin> Peekable for Response<B> {
    type Body = B;
    type Output = Response<PeekedBody<B>>;

    fn take_apart(self) -> (Parts, B) {
        self.into_parts()
    }

    fn put_together(parts: Parts, body: PeekedBody<B>) -> Self::Output {
        Response::from_parts(parts, body)
    }
}

/// The URL survives in the extensions.
#[cfg(feature = "reqwest")]
impl Peekable for reqwest::Response {
    type Body = reqwest::Body;
    type Output = Self;

    fn take_apart(self) -> (Parts, reqwest::Body) {
        use reqwest::ResponseBuilderExt;

        let url = self.url().clone();
        let (mut parts, body) = Response::<reqwest::Body>::from(self).into_parts();
        // Only this builder can write the type of extension that a `reqwest::Response` looks for.
        let mut builder = Response::builder();
        if let Some(extensions) = builder.extensions_mut() {
            *extensions = parts.extensions;
        }
        let mut builder = builder.url(url);
        parts.extensions = builder
            .extensions_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        (parts, body)
    }

    fn put_together(parts: Parts, body: PeekedBody<reqwest::Body>) -> Self {
        Response::from_parts(parts, reqwest::Body::wrap(body)).into()
    }
}
