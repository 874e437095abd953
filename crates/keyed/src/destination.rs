/// A request that says where it goes.
pub trait Destination {
    /// The host, as it was written; empty where there is none.
    fn host(&self) -> &str;

    /// The port, unless it is the one that its scheme has anyway.
    fn port(&self) -> Option<u16>;
}

impl<B> Destination for http::Request<B> {
    fn host(&self) -> &str {
        self.uri().host().unwrap_or_default()
    }

    fn port(&self) -> Option<u16> {
        let port = self.uri().port_u16()?;
        let default = match self.uri().scheme_str() {
            Some("http" | "ws") => 80,
            Some("https" | "wss") => 443,
            _ => return Some(port),
        };
        (port != default).then_some(port)
    }
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
