//! reqwest on loopback.

/// Over HTTP/1, past any proxy of the environment.
pub(crate) fn reqwest_client() -> reqwest::ClientBuilder {
    // With TLS, which the examples want, reqwest demands a provider.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}
