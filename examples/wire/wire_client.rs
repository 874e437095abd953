use clap::ValueEnum;

/// What sends the requests.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WireClient {
    /// reqwest over HTTP/1
    Reqwest,
    /// hyper-util's legacy client over HTTP/1
    HyperUtil,
}
