//! A service that throttles inside a 200, and says in the body how far its bucket is.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::Value;
use tidegate::{AdaptiveLayer, Aimd, Cause, HttpClassifier, Outcome, PeekLayer, Units, Verdict};
use tower::{ServiceBuilder, ServiceExt, service_fn};

use crate::now;

/// What GraphQL services of one kind answer when a query costs more than what is left.
const THROTTLED: &str = r#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED",
    "cost":{"requested":502,"available":498,"restoreRate":50}}}]}"#;
/// A page whose writer speaks of throttling.
const SPOKEN_OF: &str = r#"{"data":{"title":"Throttled: a love story"}}"#;

fn throttle(body: &[u8]) -> Option<Verdict> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let said = &body["errors"][0]["extensions"];
    let cost = |name: &str| said["cost"][name].as_f64();
    let missing = cost("requested")? - cost("available")?;
    let wait = Duration::try_from_secs_f64(missing / cost("restoreRate")?).ok();
    let throttled = Verdict::from(Outcome::Overload(Cause::Throttled)).retry_after(wait);
    (said["code"] == "THROTTLED").then_some(throttled)
}

#[tokio::test(start_paused = true)]
async fn a_throttle_inside_a_200_is_waited_for_and_one_that_is_only_spoken_of_is_not() {
    for (body, wait) in [(THROTTLED, 80.ms()), (SPOKEN_OF, 0.ms())] {
        let origin = now();
        let sends = Arc::new(Mutex::new(Vec::new()));
        let classifier = HttpClassifier::default()
            .body(|status, body| (status == 200).then(|| throttle(body)).flatten());
        let stack = ServiceBuilder::new()
            .layer(AdaptiveLayer::new(
                "adaptive",
                classifier,
                Aimd::new().start(5),
            ))
            .layer(
                PeekLayer::new(4_096)
                    .status(200)
                    .content_type("application/json"),
            )
            .service(service_fn(|_: Request<()>| {
                sends.lock().unwrap().push(now() - origin);
                async move {
                    let head = Response::builder().header("content-type", "application/json");
                    let response = head.body(Full::<Bytes>::from(body));
                    response.map_err(io::Error::other)
                }
            }));
        for _ in 0..2 {
            stack.clone().oneshot(Request::new(())).await.unwrap();
        }
        assert_eq!(*sends.lock().unwrap(), [0.ms(), wait]);
    }
}
