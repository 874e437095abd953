//! Upstreams in process, a way to them, and callers without end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, join_all};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use tidegate::{
    Answer, Cause, Error, GovernorLayer, HttpClassifier, Outcome, Pid, Prober, ProberLayer, Units,
};
use tidegate_testkit::{Body, Direct, Upstream};
use tokio::time::{sleep, timeout};
use tower::{Service, ServiceExt};

pub(crate) type Get = Request<Empty<Bytes>>;

pub(crate) fn get(path: &str) -> Get {
    Request::get(path).body(Empty::new()).expect("a request")
}

/// An answer is a success, and an error a connection that was lost.
pub(crate) fn judge(answer: Answer<'_, u32>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Overload(Cause::Connection),
    }
}

/// A governor whose probes do not depend on the time of day.
pub(crate) fn governor() -> GovernorLayer<HttpClassifier> {
    let layer = GovernorLayer::new(HttpClassifier::default());
    layer.handle().law(|law| *law = Pid::new(Duration::ZERO));
    layer
}

/// A prober whose probes do not depend on the time of day.
pub(crate) fn prober() -> ProberLayer<HttpClassifier> {
    let layer = ProberLayer::new(HttpClassifier::default());
    layer.handle().law(|law| *law = Prober::new(Duration::ZERO));
    layer
}

/// The way to an upstream: half of its round trip, a whole number of milliseconds, each way.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    upstream: Direct,
    round_trip: Arc<AtomicU64>,
}

impl Route {
    pub(crate) fn to(upstream: &Upstream, round_trip: Duration) -> Self {
        let route = Self {
            upstream: upstream.direct(),
            round_trip: Arc::default(),
        };
        route.set(round_trip);
        route
    }

    /// From now on, for those under way too.
    pub(crate) fn set(&self, round_trip: Duration) {
        self.round_trip.store(round_trip.as_millis() as u64, SeqCst);
    }
}

impl Service<Get> for Route {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Response<Body>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Get) -> Self::Future {
        let answer = self.upstream.call(request);
        let round_trip = Arc::clone(&self.round_trip);
        let half = move || sleep(round_trip.load(SeqCst).ms() / 2);
        Box::pin(async move {
            half().await;
            let answer = answer.await;
            half().await;
            answer
        })
    }
}

/// So many always ask to send, each again as soon as it has its answer; those that are out at the end
/// are dropped.
pub(crate) async fn crowd<S, B>(callers: usize, stack: &S, span: Duration)
where
    S: Service<Get, Response = Response<B>, Error = Error> + Clone,
    B: http_body::Body,
{
    let caller = async || -> ! {
        loop {
            if let Ok(response) = stack.clone().oneshot(get("/")).await {
                // The law hears how it ended.
                let _ = response.into_body().collect().await;
            }
        }
    };
    let callers = join_all((0..callers).map(|_| caller()));
    let _endless = timeout(span, callers).await;
}
