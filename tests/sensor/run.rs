use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Empty};
use rand::RngExt;
use tidegate::{Aimd, BoxError, FeedbackLayer, GateLayer, HttpClassifier, Units};
use tidegate_testkit::Upstream;
use tokio::time::{sleep, sleep_until, timeout};
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

/// The layers of a stack, and who watches it.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) gate: GateLayer,
    pub(crate) feedback: FeedbackLayer<HttpClassifier, Recording<Aimd>>,
    pub(crate) law: Recording<Aimd>,
    pub(crate) spy: Spy,
}

impl Watched {
    pub(crate) fn new(requests: usize) -> Self {
        let gate = GateLayer::new(1);
        // Some of the faults are overloads: enough of them to be cut now and then, but not always.
        let aimd = Aimd::new().start(MOST / 2).max(MOST).threshold(0.15);
        let law = Recording::new(aimd);
        let feedback = FeedbackLayer::new(HttpClassifier::default(), law.clone(), gate.handle())
            .late_after(3_600.s());
        let spy = Spy((0..requests).map(|_| AtomicBool::new(false)).collect());
        Self {
            gate,
            feedback,
            law,
            spy,
        }
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
        let mover = tokio::spawn(moves(self.feedback.clone(), course.clone()));
        let mut all = Vec::new();
        for call in calls {
            all.push(call.await.unwrap());
        }
        mover.abort();
        all
    }
}

async fn moves(feedback: FeedbackLayer<HttpClassifier, Recording<Aimd>>, course: Course) {
    let handle = feedback.handle();
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
