//! Every way in which the body of an `http::Response` can end.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use http::{HeaderMap, HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use tidegate_body::{AttachHook, End, Hook, HookedBody};

type BoxError = Box<dyn Error + Send + Sync>;

/// What the hooks of one test saw, in order.
#[derive(Clone, Debug, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn hook(&self, name: &'static str) -> impl Hook + use<> {
        let log = self.clone();
        move |end: End<'_>| {
            let end = match end {
                End::Complete(None) => "complete".to_owned(),
                End::Complete(Some(trailers)) => format!("complete {trailers:?}"),
                End::Failed(_) => match end.error() {
                    Some(error) => format!("failed: {error}"),
                    None => "failed".to_owned(),
                },
                End::Dropped => "dropped".to_owned(),
            };
            log.push(format!("{name} {end}"));
        }
    }

    fn push(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    #[track_caller]
    fn assert_is(&self, lines: &[&str]) {
        assert_eq!(*self.0.borrow(), lines);
    }
}

enum Step<E> {
    Frame(Frame<&'static [u8]>),
    Fail(E),
    Wait,
    Panic,
}

/// A body that does what it is told, and says that it has ended only if it is told so.
struct Script<E> {
    steps: VecDeque<Step<E>>,
    knows_its_end: bool,
    log: Log,
}

impl<E> Script<E> {
    fn new(log: &Log, steps: impl IntoIterator<Item = Step<E>>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            knows_its_end: false,
            log: log.clone(),
        }
    }

    fn knows_its_end(mut self) -> Self {
        self.knows_its_end = true;
        self
    }
}

impl<E: Unpin> Body for Script<E> {
    type Data = &'static [u8];
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, E>>> {
        match self.steps.pop_front() {
            Some(Step::Frame(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Step::Fail(error)) => Poll::Ready(Some(Err(error))),
            Some(Step::Wait) => Poll::Pending,
            Some(Step::Panic) => panic!("the script says so"),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.knows_its_end && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(3);
        hint.set_upper(self.steps.len() as u64 + 40);
        hint
    }
}

impl<E> Drop for Script<E> {
    fn drop(&mut self) {
        self.log.push("body dropped");
    }
}

fn data<E>(bytes: &'static str) -> Step<E> {
    Step::Frame(Frame::data(bytes.as_bytes()))
}

fn trailers<E>() -> Step<E> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    Step::Frame(Frame::trailers(trailers))
}

type Next<B> = Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>;

fn poll<B: Body + Unpin>(body: &mut B) -> Poll<Next<B>> {
    Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()))
}

fn next<B: Body<Error: Debug> + Unpin>(body: &mut B) -> Option<Frame<B::Data>> {
    match poll(body) {
        Poll::Ready(next) => next.transpose().expect("a frame or the end"),
        Poll::Pending => panic!("a frame or the end"),
    }
}

#[test]
fn a_body_read_to_its_end_is_complete() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one"), Step::Wait, data("two")]);
    let mut body = HookedBody::new(script, log.hook("hook"));

    assert_eq!(next(&mut body).unwrap().into_data().unwrap(), b"one");
    assert!(poll(&mut body).is_pending());
    assert_eq!(next(&mut body).unwrap().into_data().unwrap(), b"two");
    log.assert_is(&[]);
    assert!(next(&mut body).is_none());
    log.assert_is(&["hook complete"]);

    assert!(next(&mut body).is_none());
    drop(body);
    log.assert_is(&["hook complete", "body dropped"]);
}

#[test]
fn trailers_are_the_end_and_the_hook_sees_them() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one"), trailers()]);
    let mut body = HookedBody::new(script, log.hook("hook"));

    next(&mut body);
    log.assert_is(&[]);
    assert!(next(&mut body).unwrap().is_trailers());
    log.assert_is(&[r#"hook complete {"grpc-status": "0"}"#]);

    assert!(next(&mut body).is_none());
    drop(body);
    log.assert_is(&[r#"hook complete {"grpc-status": "0"}"#, "body dropped"]);
}

#[test]
fn a_reader_that_knows_the_length_need_not_poll_again() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one"), data("two")]).knows_its_end();
    let mut body = HookedBody::new(script, log.hook("hook"));

    next(&mut body);
    log.assert_is(&[]);
    next(&mut body);
    assert!(body.is_end_stream());
    log.assert_is(&["hook complete"]);
    drop(body);
    log.assert_is(&["hook complete", "body dropped"]);
}

#[test]
fn a_body_that_has_ended_calls_the_hook_when_it_is_attached() {
    let log = Log::default();
    let response = Response::new(Empty::<&[u8]>::new()).attach_hook(log.hook("hook"));
    log.assert_is(&["hook complete"]);
    drop(response);
    log.assert_is(&["hook complete"]);
}

#[test]
fn an_empty_body_that_does_not_know_it_completes_when_polled() {
    let log = Log::default();
    let mut body = HookedBody::new(Script::<Infallible>::new(&log, []), log.hook("hook"));
    log.assert_is(&[]);
    assert!(next(&mut body).is_none());
    log.assert_is(&["hook complete"]);
}

#[test]
fn an_error_mid_body_fails_it() {
    let log = Log::default();
    let reset = Step::Fail(io::Error::other("reset"));
    let mut body = HookedBody::new(Script::new(&log, [data("one"), reset]), log.hook("hook"));

    next(&mut body);
    let Poll::Ready(Some(Err(error))) = poll(&mut body) else {
        panic!("the error");
    };
    assert_eq!(error.to_string(), "reset");
    log.assert_is(&["hook failed: reset"]);
    drop(body);
    log.assert_is(&["hook failed: reset", "body dropped"]);
}

#[test]
fn an_error_of_any_type_reaches_the_hook() {
    #[derive(Debug, PartialEq)]
    struct Custom(u8);

    let log = Log::default();
    let script = Script::new(&log, [Step::Fail(Custom(7))]);
    let mut body = HookedBody::new(script, |end: End<'_>| {
        let End::Failed(error) = end else {
            panic!("a failure");
        };
        log.push(format!("{:?}", error.downcast_ref::<Custom>()));
        assert!(end.error().is_none());
    });
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Err(Custom(7))))));
    log.assert_is(&["Some(Custom(7))"]);
}

#[test]
fn a_boxed_error_is_seen_in_its_box() {
    let log = Log::default();
    let reset: BoxError = "reset".into();
    let script = Script::new(&log, [Step::Fail(reset)]);
    let mut body = HookedBody::new(script, log.hook("hook"));
    assert!(matches!(poll(&mut body), Poll::Ready(Some(Err(_)))));
    log.assert_is(&["hook failed: reset"]);
}

#[test]
fn a_body_that_is_never_polled_is_dropped_before_its_hook_is_called() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one")]);
    let response = Response::new(script).attach_hook(log.hook("hook"));
    log.assert_is(&[]);
    drop(response);
    log.assert_is(&["body dropped", "hook dropped"]);
}

#[test]
fn a_body_dropped_mid_way_is_dropped() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one"), Step::Wait]);
    let mut body = HookedBody::new(script, log.hook("hook"));
    next(&mut body);
    assert!(poll(&mut body).is_pending());
    drop(body);
    log.assert_is(&["body dropped", "hook dropped"]);
}

#[test]
fn a_panic_in_the_body_calls_the_hook_once() {
    let log = Log::default();
    let mut body = HookedBody::new(
        Script::<Infallible>::new(&log, [Step::Panic]),
        log.hook("hook"),
    );
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut body))).is_err());
    log.assert_is(&[]);
    drop(body);
    log.assert_is(&["body dropped", "hook dropped"]);
}

#[test]
fn a_panic_that_unwinds_through_the_body_calls_the_hook_once() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [Step::Panic]);
    let mut body = HookedBody::new(script, log.hook("hook"));
    let poll = AssertUnwindSafe(move || drop(poll(&mut body)));
    assert!(catch_unwind(poll).is_err());
    log.assert_is(&["body dropped", "hook dropped"]);
}

#[test]
fn the_hook_attached_first_is_called_first() {
    let log = Log::default();
    let hooked = |steps| {
        Response::new(Script::<io::Error>::new(&log, steps))
            .attach_hook(log.hook("first"))
            .attach_hook(log.hook("second"))
            .into_body()
    };

    assert!(next(&mut hooked(vec![])).is_none());
    log.assert_is(&["first complete", "second complete", "body dropped"]);

    log.0.take();
    assert!(next(&mut hooked(vec![trailers()])).is_some());
    log.assert_is(&[
        r#"first complete {"grpc-status": "0"}"#,
        r#"second complete {"grpc-status": "0"}"#,
        "body dropped",
    ]);

    log.0.take();
    let reset = Step::Fail(io::Error::other("reset"));
    assert!(matches!(
        poll(&mut hooked(vec![reset])),
        Poll::Ready(Some(Err(_)))
    ));
    log.assert_is(&[
        "first failed: reset",
        "second failed: reset",
        "body dropped",
    ]);

    log.0.take();
    drop(hooked(vec![data("one")]));
    log.assert_is(&["body dropped", "first dropped", "second dropped"]);
}

#[test]
fn the_second_hook_is_called_even_if_the_first_panics() {
    let log = Log::default();
    let body = HookedBody::new(Script::<Infallible>::new(&log, []), |_: End<'_>| {
        panic!("the first hook")
    });
    let mut body = HookedBody::new(body, log.hook("second"));
    assert!(catch_unwind(AssertUnwindSafe(move || drop(poll(&mut body)))).is_err());
    log.assert_is(&["body dropped", "second dropped"]);
}

/// Writes down all that it is told.
struct Told(&'static str, Log);

impl Hook for Told {
    fn on_open(&mut self) {
        self.1.push(format!("{} open", self.0));
    }

    fn on_poll(&mut self) {
        self.1.push(format!("{} polled", self.0));
    }

    fn on_data(&mut self, data: &[u8]) {
        self.1.push(format!("{} {} bytes", self.0, data.len()));
    }

    fn on_no_body(self) {
        self.1.push(format!("{} has no body", self.0));
    }

    fn on_end(self, end: End<'_>) {
        self.1.hook(self.0).on_end(end);
    }
}

#[test]
fn two_hooks_in_one_are_told_everything_in_turn() {
    let log = Log::default();
    let two = || (Told("first", log.clone()), Told("second", log.clone()));
    let mut body = HookedBody::new(Script::<Infallible>::new(&log, [data("abc")]), two());
    assert!(next(&mut body).is_some() && next(&mut body).is_none());
    drop(HookedBody::new(Empty::<&[u8]>::new(), two()));
    let events = [
        "open",
        "polled",
        "3 bytes",
        "polled",
        "complete",
        "has no body",
    ];
    let told = events.map(|event| [format!("first {event}"), format!("second {event}")]);
    let told: Vec<_> = told.as_flattened().iter().map(String::as_str).collect();
    log.assert_is(&told);
}

#[test]
fn the_second_of_two_hooks_in_one_is_told_of_a_drop_if_the_first_panics() {
    let log = Log::default();
    let first = |_: End<'_>| panic!("the first hook says so");
    let hook = (first, Told("second", log.clone()));
    let mut body = HookedBody::new(Script::<Infallible>::new(&log, []), hook);
    let panicked = catch_unwind(AssertUnwindSafe(|| poll(&mut body).is_ready()));
    assert!(panicked.is_err());
    log.assert_is(&["second open", "second polled", "second dropped"]);
}

#[test]
fn a_hook_may_drop_another_body() {
    let log = Log::default();
    let other = HookedBody::new(
        Script::<Infallible>::new(&log, [data("one")]),
        log.hook("other"),
    );
    let script = Script::<Infallible>::new(&log, []);
    let mut body = HookedBody::new(script, move |_: End<'_>| drop(other));
    assert!(next(&mut body).is_none());
    log.assert_is(&["body dropped", "other dropped"]);
}

#[test]
fn frames_hints_and_the_head_pass_unchanged() {
    let log = Log::default();
    let script = Script::<Infallible>::new(&log, [data("one")]).knows_its_end();
    let response = Response::builder()
        .status(206)
        .header("x-kept", "yes")
        .extension(7_u32)
        .body(script)
        .unwrap()
        .attach_hook(log.hook("hook"));

    assert_eq!(response.status(), 206);
    assert_eq!(response.headers()["x-kept"], "yes");
    assert_eq!(response.extensions().get(), Some(&7_u32));
    let hint = response.body().size_hint();
    assert_eq!((hint.lower(), hint.upper()), (3, Some(41)));
    assert!(!response.body().is_end_stream());
}

#[test]
fn it_says_whether_it_has_ended() {
    let mut body = HookedBody::new(Full::new(&b"one"[..]), |_: End<'_>| ());
    assert!(format!("{body:?}").ends_with("ended: false }"));
    next(&mut body);
    assert!(format!("{body:?}").ends_with("ended: true }"));
}

#[test]
fn bodies_with_boxed_errors_with_none_and_those_of_hyper_take_a_hook() {
    fn is_body<B: Body>() {}
    is_body::<HookedBody<hyper::body::Incoming, fn(End<'_>)>>();

    let log = Log::default();
    let boxed: BoxBody<&[u8], BoxError> = Full::new(&b"one"[..]).map_err(Into::into).boxed();
    next(&mut HookedBody::new(boxed, log.hook("boxed")));
    next(&mut HookedBody::new(
        String::from("one"),
        log.hook("string"),
    ));
    log.assert_is(&["boxed complete", "string complete"]);
}
