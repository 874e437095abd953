use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use rand::RngExt;
use tidegate::{
    AdaptiveLayer, Aimd, BoxError, FeedbackHandle, FeedbackLayer, GateLayer, HttpClassifier,
};
use tidegate_testkit::Upstream;
use tokio::time::{sleep, sleep_until, timeout};
use tower::layer::util::Stack;
use tower::{Service, ServiceExt};

use crate::plan::{BodyEnd, Course, Leaves, Plan, Seen, number};
use crate::recording::Recording;
use crate::support::now;

/// The most that a limit is set to.
pub(crate) const MOST: usize = 64;

/// Which requests were sent.
#[derive(Clone, Debug)]
pub(crate) struct Spy(Arc<[AtomicBool]>);

impl Spy {
    /// To be called when the request is sent.
    pub(crate) fn note(&self, path: &str) {
        let before = self.0[number(path)].swap(true, Ordering::Relaxed);
        assert!(!before, "{path} was sent twice");
    }

    pub(crate) fn sent(&self, number: usize) -> bool {
        self.0[number].load(Ordering::Relaxed)
    }
}

/// Who watches a stack.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) handle: FeedbackHandle<Recording<Aimd>>,
    pub(crate) law: Recording<Aimd>,
    pub(crate) spy: Spy,
}

/// Whoever leaves is not late before that.
const LATE: Duration = Duration::from_secs(3_600);

impl Watched {
    /// A gate and a law as two layers.
    pub(crate) fn two_layers(
        requests: usize,
    ) -> (
        Self,
        Stack<FeedbackLayer<HttpClassifier, Recording<Aimd>>, GateLayer>,
    ) {
        let gate = GateLayer::new(1);
        let law = law();
        let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle())
            .late_after(LATE);
        let watched = Self::new(requests, law, feedback.handle());
        (watched, Stack::new(feedback, gate))
    }

    /// A gate that a law moves.
    pub(crate) fn one_layer(
        requests: usize,
    ) -> (Self, AdaptiveLayer<HttpClassifier, Recording<Aimd>>) {
        let law = law();
        let layer = AdaptiveLayer::new("law", HttpClassifier::default(), law.clone());
        let layer = layer.late_after(LATE);
        (Self::new(requests, law, layer.handle()), layer)
    }

    fn new(requests: usize, law: Recording<Aimd>, handle: FeedbackHandle<Recording<Aimd>>) -> Self {
        let spy = Spy((0..requests).map(|_| AtomicBool::new(false)).collect());
        Self { handle, law, spy }
    }

    /// Sends all that is planned, while somebody moves the limit. What each caller saw.
    pub(crate) async fn run<S, B>(
        &self,
        course: &Course,
        plans: &[Plan],
        stack: S,
        upstream: &Upstream,
    ) -> Vec<Seen>
    where
        S: Service<Request<Empty<Bytes>>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError> + Send,
        S::Future: Send,
        B: Body<Data: Send, Error: Into<BoxError>> + Unpin + Send + 'static,
    {
        let start = now();
        let calls = plans.iter().enumerate().map(|(number, plan)| {
            let uri = format!("{}/{number}", upstream.uri());
            let request = Request::get(uri).body(Empty::new()).unwrap();
            let (stack, spy, plan) = (stack.clone(), self.spy.clone(), *plan);
            tokio::spawn(async move {
                sleep_until(start + plan.at).await;
                let seen = called(stack, request, plan.leaves).await;
                match seen {
                    Seen::LeftBeforeHead if !spy.sent(number) => Seen::Unsent,
                    seen => seen,
                }
            })
        });
        let calls: Vec<_> = calls.collect();
        let mover = tokio::spawn(moves(self.handle.clone(), course.clone()));
        let mut all = Vec::new();
        for call in calls {
            all.push(call.await.unwrap());
        }
        mover.abort();
        all
    }
}

/// Some of the faults are overloads: enough of them for a cut now and then, but not always.
fn law() -> Recording<Aimd> {
    Recording::new(Aimd::new().start(MOST / 2).max(MOST).threshold(0.15))
}

async fn moves(handle: FeedbackHandle<Recording<Aimd>>, course: Course) {
    let mut draws = course.draws();
    loop {
        sleep(course.time.mul_f64(draws.random::<f64>() / 50.0)).await;
        handle.set_limit(draws.random_range(4..=MOST));
    }
}

async fn called<S, B>(stack: S, request: Request<Empty<Bytes>>, leaves: Leaves) -> Seen
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>>,
    B: Body + Unpin,
{
    let call = stack.oneshot(request);
    let answer = match leaves {
        Leaves::After(patience) => timeout(patience, call).await,
        _ => Ok(call.await),
    };
    let response = match answer {
        Err(_) => return Seen::LeftBeforeHead,
        Ok(Err(_)) => return Seen::Failed,
        Ok(Ok(response)) => response,
    };
    let status = response.status().as_u16();
    Seen::Head(status, read(response.into_body(), leaves).await)
}

async fn read(mut body: impl Body + Unpin, leaves: Leaves) -> BodyEnd {
    if leaves == Leaves::AtHead {
        return BodyEnd::Left;
    }
    loop {
        match body.frame().await {
            None => return BodyEnd::Read,
            Some(Err(_)) => return BodyEnd::Failed,
            Some(Ok(_)) if leaves == Leaves::InBody => return BodyEnd::Left,
            Some(Ok(_)) => {}
        }
    }
}
