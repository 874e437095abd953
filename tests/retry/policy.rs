//! The same rules under `tower::retry`.

use std::future::poll_fn;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tidegate::{Attempt, GateLayer, GaveUp, GaveUpReason, Units};
use tidegate_testkit::{Response, Upstream};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::common::{answers, arrivals, get, post, retry};
use crate::support::now;

#[tokio::test(start_paused = true)]
async fn it_waits_as_the_layer_does_and_starts_anew_with_each_call() {
    let upstream = Upstream::unlimited()
        .script(|_, nth| {
            [0, 1, 3, 4]
                .contains(&nth)
                .then(|| Response::new(503).header("retry-after", "1"))
        })
        .start_in_process();
    let stack = ServiceBuilder::new()
        .retry(retry().policy())
        .layer(GateLayer::new(1))
        .service(upstream.direct());
    let mut stack = stack;
    poll_fn(|context| Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, context))
        .await
        .unwrap();
    assert_eq!(stack.call(get()).await.unwrap().status(), 200);
    assert_eq!(
        arrivals(&upstream),
        [0, 1_100, 2_300].map(|ms: u64| ms.ms())
    );
    poll_fn(|context| Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, context))
        .await
        .unwrap();
    assert_eq!(stack.call(get()).await.unwrap().status(), 200);
    assert_eq!(
        arrivals(&upstream)[4..],
        [3_400, 4_600].map(|ms: u64| ms.ms())[..]
    );
}

#[tokio::test(start_paused = true)]
async fn it_gives_up_for_the_same_reasons() {
    for (layer, request, expected) in [
        (retry(), post(), GaveUpReason::MayBeProcessed),
        (
            retry().attempts(1),
            get(),
            GaveUpReason::Attempts { attempts: 1 },
        ),
        (
            retry().max_hint(0.s()),
            get(),
            GaveUpReason::HintTooLong { max_hint: 0.s() },
        ),
        (
            retry().deadline(1.s()),
            get(),
            GaveUpReason::Deadline { deadline: 1.s() },
        ),
    ] {
        let failure = Response::new(503).header("retry-after", "1");
        let upstream = answers([failure]).start_in_process();
        let stack = ServiceBuilder::new()
            .retry(layer.policy())
            .service(upstream.direct());
        let started = now();
        let response = stack.oneshot(request).await.unwrap();
        assert_eq!(GaveUp::of(&response).unwrap().reason, expected);
        assert_eq!((now() - started, upstream.report().arrivals), (0.s(), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn below_ours_it_makes_single_attempts() {
    let upstream = answers(vec![Response::new(429); 99]).start_in_process();
    let stack = ServiceBuilder::new()
        .layer(retry())
        .retry(retry().policy())
        .service(upstream.direct());
    stack.oneshot(get()).await.unwrap();
    assert_eq!(upstream.report().arrivals, 3);
    assert_eq!(Attempt::current(), None);
}
