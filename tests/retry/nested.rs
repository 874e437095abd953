//! Retries above retries.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tidegate::{Attempt, Budget, Units};
use tidegate_testkit::Upstream;
use tower::retry::Policy;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::common::{get, retry};

fn throttled() -> Upstream {
    Upstream::unlimited().fail(1.0, 429).start_in_process()
}

#[tokio::test(start_paused = true)]
async fn of_two_of_ours_the_outer_one_makes_the_attempts() {
    let upstream = throttled();
    let (outer, inner) = (
        Budget::new(0.5).reserve(10.0),
        Budget::new(0.5).reserve(10.0),
    );
    let stack = ServiceBuilder::new()
        .layer(retry().attempts(4).budget(outer.clone()))
        .layer(retry().attempts(4).budget(inner.clone()))
        .service(upstream.direct());
    let response = stack.oneshot(get()).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), upstream.report().arrivals),
        (429, 4)
    );
    // One request, and three retries.
    let left = [inner, outer].map(|budget| format!("{}", budget.left()));
    assert_eq!(left, ["100", "97.5"]);
}

#[tokio::test(start_paused = true)]
async fn also_with_a_worker_between_them() {
    let upstream = throttled();
    let stack = ServiceBuilder::new()
        .layer(retry().attempts(4))
        .buffer(8)
        .layer(retry().attempts(4))
        .service(upstream.direct());
    stack.oneshot(get()).await.unwrap();
    assert_eq!(upstream.report().arrivals, 4);
}

/// Three attempts at whatever comes.
#[derive(Clone)]
struct Three(u32);

impl<Response, E> Policy<Request<Full<Bytes>>, http::Response<Response>, E> for Three {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut Request<Full<Bytes>>,
        answer: &mut Result<http::Response<Response>, E>,
    ) -> Option<Self::Future> {
        self.0 += 1;
        let failed = answer
            .as_ref()
            .is_ok_and(|response| response.status() != 200);
        (failed && self.0 < 3).then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
        Some(request.clone())
    }
}

/// Nobody can know it, but the numbers show it.
#[tokio::test(start_paused = true)]
async fn a_foreign_one_below_multiplies_and_the_upstream_can_see_by_whom() {
    let upstream = throttled();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let direct = upstream.direct();
    let stack = ServiceBuilder::new()
        .layer(retry().attempts(4))
        .retry(Three(0))
        .service({
            let seen = Arc::clone(&seen);
            service_fn(move |request: Request<Full<Bytes>>| {
                let number = request.extensions().get::<Attempt>().unwrap().number;
                assert_eq!(Attempt::current().unwrap().number, number);
                seen.lock().unwrap().push(number);
                direct.clone().oneshot(request)
            })
        });
    stack.oneshot(get()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
}

/// The token of an `http::Request` is its own, not that of whoever polls.
#[tokio::test(start_paused = true)]
async fn another_request_made_within_an_attempt_is_tried_again_by_itself() {
    let tokens = Upstream::unlimited()
        .script(|_, nth| (nth == 0).then(|| tidegate_testkit::Response::new(503)))
        .start_in_process();
    let fetch_token = retry().layer(tokens.direct());
    let stack = retry().layer(service_fn(move |_: Request<Full<Bytes>>| {
        fetch_token.clone().oneshot(get())
    }));
    assert_eq!(stack.oneshot(get()).await.unwrap().status(), 200);
    assert_eq!(tokens.report().arrivals, 2);
    let between = tokens.arrivals()[1].at;
    assert_eq!(between, 100.ms());
}
