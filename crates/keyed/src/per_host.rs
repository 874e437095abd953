use std::io::{self, Write};
use std::net::Ipv6Addr;

use crate::destination::default_port;
use crate::{Destination, Key};

/// The host of a request, and its port unless that is the default of its scheme.
///
/// Lower case, without a trailing dot: `http://Example.com.:80/` and `https://example.com/` are both
/// `example.com`, and `http://example.com:8080/` is `example.com:8080`. An IPv6 address is written
/// as short as it can be. A request without a host has the empty key.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerHost;

/// A host of 253 bytes, which is the longest that DNS allows, and a port.
const LONGEST: usize = 260;

impl<Request: Destination> Key<Request> for PerHost {
    #[inline]
    fn with_key<T>(&self, request: &Request, look_up: impl FnOnce(&str) -> T) -> T {
        if let Some(host) = request.plain_host() {
            return look_up(host);
        }
        let (host, port) = (request.host(), request.port());
        let host = host.strip_suffix('.').unwrap_or(host);
        let as_it_is = |byte: u8| !byte.is_ascii_uppercase() && byte != b'[';
        if port.is_none() && host.bytes().all(as_it_is) {
            return look_up(host);
        }
        with_written(host, port, look_up)
    }
}

/// A key as it is written by hand, or a whole URL, as a host's.
pub(crate) fn normal(key: &str) -> String {
    let (default, rest) = match key.split_once("://") {
        Some((scheme, rest)) => (default_port(scheme), rest),
        None => (None, key),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let authority = match authority.rsplit_once('@') {
        Some((_userinfo, authority)) => authority,
        None => authority,
    };
    let (host, port) = match authority.rsplit_once(':') {
        // An address that its brackets are missing from.
        _ if authority.parse::<Ipv6Addr>().is_ok() => (&*format!("[{authority}]"), None),
        Some((host, "")) => (host, None),
        Some((host, port)) => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (authority, None),
        },
        None => (authority, None),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    with_written(host, port.filter(|_| port != default), str::to_owned)
}

fn with_written<T>(host: &str, port: Option<u16>, look_up: impl FnOnce(&str) -> T) -> T {
    let mut buffer = [0; LONGEST];
    let mut rest = &mut buffer[..];
    let written = write_key(&mut rest, host, port);
    let left = rest.len();
    let text = &mut buffer[..LONGEST - left];
    text.make_ascii_lowercase();
    if let (Ok(()), Ok(text)) = (written, str::from_utf8(text)) {
        return look_up(text);
    }
    // No host that can be resolved is so long.
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    look_up(&format!("{}{port}", host.to_ascii_lowercase()))
}

fn write_key(into: &mut impl Write, host: &str, port: Option<u16>) -> io::Result<()> {
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match address.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        Some(address) => write!(into, "[{address}]")?,
        None => into.write_all(host.as_bytes())?,
    }
    port.map_or(Ok(()), |port| write!(into, ":{port}"))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn key(uri: &str) -> String {
        let request = Request::get(uri).body(()).unwrap();
        PerHost.with_key(&request, str::to_owned)
    }

    #[test]
    fn case_default_port_and_trailing_dot_make_no_difference() {
        for uri in [
            "http://example.com/a",
            "https://example.com",
            "http://EXAMPLE.com:80/",
            "https://example.com:443/?b",
            "http://Example.Com./",
            "https://user:secret@example.com.:443/",
            "ws://example.com:80/",
        ] {
            assert_eq!(key(uri), "example.com", "{uri}");
        }
    }

    #[test]
    fn another_port_or_name_is_another_key() {
        assert_eq!(key("http://example.com:443/"), "example.com:443");
        assert_eq!(key("https://example.com.:80/"), "example.com:80");
        assert_eq!(key("http://www.example.com/"), "www.example.com");
        assert_eq!(key("http://[::1]:8080/"), "[::1]:8080");
        assert_eq!(key("http://[::1]/"), "[::1]");
        assert_eq!(key("/path"), "");
    }

    #[test]
    fn an_address_is_one_key_however_it_is_written() {
        for uri in [
            "http://[::1]/",
            "http://[::1]:80/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http://[0000::0001]/",
        ] {
            assert_eq!(key(uri), "[::1]", "{uri}");
        }
        assert_eq!(key("http://[FE80::0:A]:8080/"), "[fe80::a]:8080");
        assert_eq!(key("http://127.0.0.1:8080/"), "127.0.0.1:8080");
    }

    #[test]
    fn a_host_that_is_too_long_for_any_resolver_is_a_key_too() {
        let long = "A.".repeat(200) + "com";
        let expected = long.to_ascii_lowercase();
        assert_eq!(key(&format!("http://{long}/")), expected);
        assert_eq!(key(&format!("http://{long}:8080/")), expected + ":8080");
    }

    #[test]
    fn a_key_by_hand_is_written_as_one_of_a_request() {
        for (by_hand, as_key) in [
            ("Example.COM.", "example.com"),
            ("example.com.:8080", "example.com:8080"),
            ("[::1]", "[::1]"),
            ("[0::1]:8080", "[::1]:8080"),
            ("::1", "[::1]"),
            ("::", "[::]"),
            ("*", "*"),
            ("", ""),
            ("example.com:", "example.com"),
            ("example.com:99999", "example.com:99999"),
            // A URL, as whoever copies one from a browser expects.
            ("https://Example.COM/path?query#part", "example.com"),
            ("https://example.com:443", "example.com"),
            ("HTTPS://example.com.:443/", "example.com"),
            ("http://example.com:443/", "example.com:443"),
            ("https://user:secret@example.com:8443/", "example.com:8443"),
            ("http://[::1]:80/", "[::1]"),
            ("example.com/path", "example.com"),
        ] {
            assert_eq!(normal(by_hand), as_key, "{by_hand}");
            assert_eq!(normal(as_key), as_key, "a key is its own");
        }
    }

    #[cfg(feature = "reqwest")]
    #[test]
    fn a_request_of_reqwest_has_the_same_keys() {
        for (url, expected) in [
            ("http://EXAMPLE.com.:80/", "example.com"),
            ("https://example.com:8443/", "example.com:8443"),
            ("http://[::1]:8080/", "[::1]:8080"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
        ] {
            let request = reqwest::Request::new(reqwest::Method::GET, url.parse().unwrap());
            assert_eq!(PerHost.with_key(&request, str::to_owned), expected);
        }
    }
}
