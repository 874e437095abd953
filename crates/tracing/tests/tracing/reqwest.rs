//! Over the types of reqwest.

use reqwest::{Method, Request, Response};
use tidegate_tracing::SpanLayer;
use tower::{Layer, ServiceExt, service_fn};

use crate::heard::Heard;

#[tokio::test(start_paused = true)]
async fn a_request_of_reqwest_has_the_same_span() {
    let (heard, _listening) = Heard::listen();
    let ok = service_fn(async |_: Request| {
        Ok::<_, reqwest::Error>(Response::from(http::Response::new("hello")))
    });
    let url = "https://user:secret@api.example:8443/secret?key=secret";
    let request = Request::new(Method::POST, url.parse().unwrap());
    SpanLayer::new().layer(ok).oneshot(request).await.unwrap();
    assert_eq!(
        heard.spans()[0].words(),
        "http.request.method=POST http.response.status_code=200 otel.kind=client otel.name=POST \
         server.address=api.example server.port=8443 tidegate.wait_ms=0.0"
    );
}
