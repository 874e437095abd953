use std::error::Error;
use std::io;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use tidegate_admission::Door;
use tidegate_classify::{Classify, Verdict, When};
use tidegate_core::{Cause, Outcome, Units};
use tidegate_feedback::FeedbackLayer;
use tokio::time::advance;
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{Frames, Recorder, Step, by_status, request};

/// One response through the layer; its body.
async fn body_of<C>(
    classifier: C,
    law: &Recorder,
    status: u16,
    steps: Vec<Step>,
) -> impl BodyExt<Error: Into<tidegate_core::BoxError>>
where
    C: Classify<Request<()>, Response<Frames>>,
{
    let feedback = FeedbackLayer::new(classifier, law.clone(), Door::new("gate", 10));
    let steps = std::sync::Mutex::new(Some(steps));
    let stack = feedback.layer(service_fn(move |_: Request<()>| {
        let mut response = Response::new(Frames(steps.lock().unwrap().take().unwrap()));
        *response.status_mut() = status.try_into().unwrap();
        async { Ok::<_, io::Error>(response) }
    }));
    Box::pin(stack.oneshot(request()).await.unwrap().into_body())
}

fn reset() -> Step {
    Step::Error(io::Error::from(io::ErrorKind::ConnectionReset).into())
}

#[tokio::test]
async fn a_body_that_fails_after_a_good_head_corrects_once_without_a_latency() {
    let law = Recorder::new(10);
    let body = body_of(by_status, &law, 200, vec![Step::Data(b"half"), reset()]).await;
    assert!(body.collect().await.is_err());
    let outcomes = [Outcome::Success, Outcome::Overload(Cause::Connection)];
    assert_eq!(law.outcomes(), outcomes);
    assert_eq!(law.samples()[1].latency, None);
    assert_eq!(law.samples()[1].started, law.samples()[0].started);
}

#[tokio::test]
async fn a_body_that_fails_after_a_bad_head_is_not_counted_again() {
    let law = Recorder::new(10);
    let body = body_of(by_status, &law, 429, vec![reset()]).await;
    assert!(body.collect().await.is_err());
    assert_eq!(law.outcomes(), [Outcome::Overload(Cause::Throttled)]);
}

#[tokio::test]
async fn a_body_that_is_read_or_dropped_adds_nothing() {
    for read in [true, false] {
        let law = Recorder::new(10);
        let body = body_of(by_status, &law, 200, vec![Step::Data(b"all")]).await;
        if read {
            assert!(body.collect().await.is_ok());
        } else {
            drop(body);
        }
        assert_eq!(law.outcomes(), [Outcome::Success]);
    }
}

/// Trailers tell: `ok: 1` is a success.
struct ByTrailers;

impl<Req, Res> Classify<Req, Res> for ByTrailers {
    type Call = ();

    fn request(&self, _request: &Req) {}

    fn response(&self, (): &mut (), _response: &Res) -> When {
        When::AtEnd
    }

    fn error(&self, (): &mut (), _error: &(dyn Error + 'static)) -> Verdict {
        Outcome::Overload(Cause::Connection).into()
    }

    fn end(&self, (): &mut (), trailers: Option<&HeaderMap>) -> Verdict {
        let ok = trailers.is_some_and(|trailers| trailers.contains_key("ok"));
        if ok {
            Outcome::Success.into()
        } else {
            Outcome::Failure.into()
        }
    }
}

#[tokio::test]
async fn an_outcome_that_the_trailers_tell_is_known_at_the_end() {
    let trailers = HeaderMap::from_iter([("ok".parse().unwrap(), "1".parse().unwrap())]);
    let cases = [
        (vec![Step::Trailers(trailers)], Outcome::Success),
        (vec![Step::Data(b"no trailers")], Outcome::Failure),
        (vec![reset()], Outcome::Overload(Cause::Connection)),
    ];
    for (steps, outcome) in cases {
        let law = Recorder::new(10);
        let body = body_of(ByTrailers, &law, 200, steps).await;
        assert!(law.samples().is_empty());
        let _ = body.collect().await;
        assert_eq!(law.outcomes(), [outcome]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_dropped_before_it_told_is_judged_by_how_long_that_took() {
    let cases = [
        (900.ms(), Outcome::Ignored),
        (1_100.ms(), Outcome::Overload(Cause::TimedOut)),
    ];
    for (time, outcome) in cases {
        let law = Recorder::new(10);
        let body = body_of(ByTrailers, &law, 200, vec![Step::Stall]).await;
        advance(time).await;
        drop(body);
        assert_eq!(law.outcomes(), [outcome]);
    }
}
