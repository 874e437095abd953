use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::Empty;
use tidegate_classify::Answer;
use tidegate_core::{BoxError, Cause, Change, Controller, Outcome, Reason, Sample, Setting};

/// Writes down what it hears, and asks for what it is told to.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    pub(crate) heard: Arc<Mutex<Heard>>,
    setting: Setting,
}

#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) starts: Vec<usize>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) moves: Vec<f64>,
    /// What it asks for after the next sample.
    pub(crate) next: Option<Setting>,
}

impl Recorder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            heard: Arc::default(),
            setting: Setting::limit(limit as f64),
        }
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.heard.lock().unwrap().samples.clone()
    }

    pub(crate) fn outcomes(&self) -> Vec<Outcome> {
        self.samples().iter().map(|sample| sample.outcome).collect()
    }

    pub(crate) fn ask(&self, setting: Setting) {
        self.heard.lock().unwrap().next = Some(setting);
    }
}

impl Controller for Recorder {
    fn on_start(&mut self, _now: Instant, in_flight: usize) {
        self.heard.lock().unwrap().starts.push(in_flight);
    }

    fn on_sample(&mut self, _now: Instant, sample: &Sample) -> Option<Change> {
        let mut heard = self.heard.lock().unwrap();
        heard.samples.push(*sample);
        let from = self.setting;
        self.setting = heard.next.take()?;
        Some(Change {
            from,
            to: self.setting,
            reason: Reason::Other("told to"),
        })
    }

    fn setting(&self) -> Setting {
        self.setting
    }

    fn move_to(&mut self, _now: Instant, limit: f64) {
        self.heard.lock().unwrap().moves.push(limit);
        self.setting.limit = limit;
    }
}

/// What [`respond`] answers with.
pub(crate) type Answered = Response<Empty<&'static [u8]>>;

/// [`by_status`] as a type with a name.
pub(crate) type Classifier = fn(Answer<'_, Answered>) -> Outcome;

/// 200 is a success, 429 a throttle, an error a lost connection.
pub(crate) fn by_status<B>(answer: Answer<'_, Response<B>>) -> Outcome {
    match answer.map(|response| response.status().as_u16()) {
        Ok(200) => Outcome::Success,
        Ok(429) => Outcome::Overload(Cause::Throttled),
        Ok(_) => Outcome::Failure,
        Err(_) => Outcome::Overload(Cause::Connection),
    }
}

pub(crate) fn request() -> Request<()> {
    Request::new(())
}

pub(crate) fn respond(status: u16) -> Answered {
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status.try_into().unwrap();
    response
}

/// A body of frames that are given one by one.
#[derive(Debug, Default)]
pub(crate) struct Frames(pub(crate) Vec<Step>);

#[derive(Debug)]
pub(crate) enum Step {
    Data(&'static [u8]),
    Trailers(HeaderMap),
    Error(BoxError),
    Stall,
}

impl Body for Frames {
    type Data = &'static [u8];
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, BoxError>>> {
        if let Some(Step::Stall) = self.0.first() {
            return Poll::Pending;
        }
        let step = (!self.0.is_empty()).then(|| self.0.remove(0));
        Poll::Ready(step.map(|step| match step {
            Step::Data(data) => Ok(Frame::data(data)),
            Step::Trailers(trailers) => Ok(Frame::trailers(trailers)),
            Step::Error(error) => Err(error),
            Step::Stall => unreachable!("it stays where it is"),
        }))
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads the paused clock")]
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
