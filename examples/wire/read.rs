use http_body::Body;
use http_body_util::BodyExt;

/// A response whose body is read to its end, or until it fails.
pub(crate) trait Read {
    async fn read(self);
}

impl Read for reqwest::Response {
    async fn read(self) {
        // The layer hears how it ended.
        let _ = self.bytes().await;
    }
}

impl<B: Body> Read for http::Response<B> {
    async fn read(self) {
        let _ = self.into_body().collect().await;
    }
}
