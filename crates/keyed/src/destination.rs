/// A request that says where it goes.
pub trait Destination {
    /// The host, as it was written; empty where there is none.
    fn host(&self) -> &str;

    /// The port, unless it is the one that its scheme has anyway.
    fn port(&self) -> Option<u16>;

    /// The host where it has no such port and is written as a key is, if that can be told sooner than
    /// by the two above: most are.
    fn plain_host(&self) -> Option<&str> {
        None
    }
}

impl<B> Destination for http::Request<B> {
    fn host(&self) -> &str {
        self.uri().host().unwrap_or_default()
    }

    fn port(&self) -> Option<u16> {
        let port = self.uri().port_u16()?;
        let default = self.uri().scheme_str().and_then(default_port);
        (Some(port) != default).then_some(port)
    }

    #[inline]
    fn plain_host(&self) -> Option<&str> {
        let authority = self.uri().authority()?.as_str();
        let is_plain = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        // All of them, which is faster than up to the first that is not.
        let all = authority
            .bytes()
            .fold(true, |all, byte| all & is_plain(byte));
        (all && !authority.ends_with('.')).then_some(authority)
    }
}

/// The port that is meant where none is written.
pub(crate) fn default_port(scheme: &str) -> Option<u16> {
    let is = |name| scheme.eq_ignore_ascii_case(name);
    if is("https") || is("wss") {
        return Some(443);
    }
    (is("http") || is("ws")).then_some(80)
}

#[cfg(feature = "reqwest")]
impl Destination for reqwest::Request {
    fn host(&self) -> &str {
        self.url().host_str().unwrap_or_default()
    }

    fn port(&self) -> Option<u16> {
        self.url().port()
    }
}
