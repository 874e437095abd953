use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode};

use crate::Peeked;

/// What a classifier reads of a request: `http::Request<B>`, and `reqwest::Request` with the feature
/// `reqwest`. Not to be implemented elsewhere.
pub trait RequestHead: Sealed {
    /// Its method.
    fn method(&self) -> &Method;

    /// The path of its target, without the query.
    fn path(&self) -> &str;

    /// The host of its target, as it was written and empty where there is none, and the port, which is that of
    /// the scheme where none was written.
    fn destination(&self) -> (&str, Option<u16>);

    /// The same before it is taken apart, which takes longer than to compare it: as it was written, credentials
    /// included, and the port of the scheme.
    fn authority(&self) -> (&str, Option<u16>);
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

    #[inline]
    fn destination(&self) -> (&str, Option<u16>) {
        let Some(authority) = self.uri().authority() else {
            return ("", None);
        };
        let text = authority.as_str();
        // As most are: to take one apart costs more than to see that.
        let is_host = !text.bytes().any(|byte| byte == b':' || byte == b'@');
        let (host, port) = if is_host {
            (text, None)
        } else {
            (authority.host(), authority.port_u16())
        };
        (host, port.or_else(|| of_scheme(self.uri().scheme_str()?)))
    }

    #[inline]
    fn authority(&self) -> (&str, Option<u16>) {
        let written = self.uri().authority();
        let of_scheme = self.uri().scheme_str().and_then(of_scheme);
        (written.map_or("", Authority::as_str), of_scheme)
    }
}

fn of_scheme(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
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

    fn destination(&self) -> (&str, Option<u16>) {
        let url = self.url();
        let host = url.host_str().unwrap_or_default();
        (host, url.port().or_else(|| of_scheme(url.scheme())))
    }

    fn authority(&self) -> (&str, Option<u16>) {
        let url = self.url();
        (url.authority(), of_scheme(url.scheme()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn goes_to(
        request: &impl RequestHead,
        host: &str,
        port: Option<u16>,
        written: (&str, Option<u16>),
    ) {
        assert_eq!(request.destination(), (host, port));
        assert_eq!(request.authority(), written);
    }

    #[test]
    fn a_request_goes_to_a_host_and_to_the_port_of_its_scheme() {
        let (http, https) = (Some(80), Some(443));
        for (uri, host, port, written) in [
            (
                "http://a.example/path",
                "a.example",
                http,
                ("a.example", http),
            ),
            (
                "https://me:secret@a.example?key",
                "a.example",
                https,
                ("me:secret@a.example", https),
            ),
            (
                "http://a.example:8080",
                "a.example",
                Some(8080),
                ("a.example:8080", http),
            ),
            ("wss://a.example", "a.example", https, ("a.example", https)),
            ("/path", "", None, ("", None)),
        ] {
            let request = http::Request::get(uri).body(()).unwrap();
            goes_to(&request, host, port, written);
            #[cfg(feature = "reqwest")]
            if let Ok(url) = uri.parse() {
                let request = reqwest::Request::new(Method::GET, url);
                goes_to(&request, host, port, written);
            }
        }
    }
}
