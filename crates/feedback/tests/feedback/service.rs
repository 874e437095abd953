use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Instant;

use http::Request;
use tidegate_admission::Door;
use tidegate_control::Aimd;
use tidegate_core::{Observer, Sample};
use tidegate_feedback::{Feedback, FeedbackLayer, ResponseFuture};
use tidegate_gate::HoldBody;
use tower::{Layer, Service, ServiceExt};

use crate::support::{Answered, Classifier, by_status, request, respond};

/// Ready after `polls` polls, and broken after that if it is told so.
#[derive(Clone, Debug)]
struct Shy {
    polls: usize,
    broken: bool,
}

impl Service<Request<()>> for Shy {
    type Response = Answered;
    type Error = io::Error;
    type Future = Ready<io::Result<Self::Response>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.polls > 0 {
            self.polls -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.broken {
            return Poll::Ready(Err(io::Error::other("broken")));
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<()>) -> Self::Future {
        assert_eq!(self.polls, 0, "called before it was ready");
        ready(Ok(respond(200)))
    }
}

#[tokio::test]
async fn readiness_is_that_of_the_service_below() {
    let layer = FeedbackLayer::new(by_status, Aimd::new(), Door::new("gate", 1));
    let polls = 3;
    let shy = layer.layer(Shy {
        polls,
        broken: false,
    });
    shy.oneshot(request()).await.unwrap();

    let broken = layer.layer(Shy {
        polls,
        broken: true,
    });
    let error = broken.oneshot(request()).await.unwrap_err();
    assert_eq!(error.find::<io::Error>().unwrap().to_string(), "broken");
}

/// Counts the samples that it is told of.
#[derive(Debug, Default)]
struct Samples(AtomicUsize);

impl Observer for Samples {
    fn on_sample(&self, _now: Instant, _sample: &Sample) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// `Steer`, which has a method of that name, is not in scope here.
#[tokio::test]
async fn a_handle_that_is_observed_by_its_own_method_tells_of_the_law_too() {
    let layer = FeedbackLayer::new(by_status, Aimd::new(), Door::new("gate", 1));
    let samples = Arc::new(Samples::default());
    layer.handle().observe(Arc::clone(&samples) as _);
    let ready = Shy {
        polls: 0,
        broken: false,
    };
    layer.layer(ready).oneshot(request()).await.unwrap();
    assert_eq!(samples.0.load(Relaxed), 1);
}

#[test]
fn a_stack_is_clone_send_and_sync_and_its_future_send() {
    fn stack<T: Clone + Send + Sync + 'static>() {}
    fn future<T: Send + 'static>() {}
    stack::<Feedback<Shy, Classifier, Aimd>>();
    stack::<FeedbackLayer<Classifier, Aimd>>();
    future::<ResponseFuture<Shy, Request<()>, Classifier, Aimd, HoldBody>>();
}
