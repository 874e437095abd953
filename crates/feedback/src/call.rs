use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tidegate_body::{End, Hook};
use tidegate_classify::{Classify, Verdict, When};
use tidegate_core::{Controller, Outcome, Refused};

use crate::control_loop::{ControlLoop, Sent};

/// What all clones of a layer share.
#[derive(Debug)]
pub(crate) struct Shared<C, L> {
    pub(crate) classifier: C,
    pub(crate) control: Arc<ControlLoop<L>>,
}

/// One request, from its start until its outcome is known: takes its sample once.
///
/// Once the head of the response is there it is the hook of its body.
pub struct Call<Req, Res, C, L>
where
    C: Classify<Req, Res>,
    L: Controller,
{
    shared: Arc<Shared<C, L>>,
    kept: C::Call,
    stage: Stage,
    types: PhantomData<fn(&Req) -> Res>,
}

#[derive(Debug)]
enum Stage {
    New,
    Sent(Sent),
    /// The end of the body tells its outcome; its head came after so long.
    AtEnd(Sent, Duration),
    /// Its head was a success; its body may fail.
    Succeeded(Sent),
    Over,
}

impl<Req, Res, C, L> Call<Req, Res, C, L>
where
    C: Classify<Req, Res>,
    L: Controller,
{
    #[inline]
    pub(crate) fn new(shared: Arc<Shared<C, L>>, request: &Req) -> Self {
        let kept = shared.classifier.request(request);
        Self {
            shared,
            kept,
            stage: Stage::New,
            types: PhantomData,
        }
    }

    /// The request goes out, unless it has.
    #[inline]
    pub(crate) fn send(&mut self) {
        if matches!(self.stage, Stage::New) {
            self.stage = Stage::Sent(self.shared.control.send());
        }
    }

    /// The head of the response is there.
    #[inline]
    pub(crate) fn respond(&mut self, response: &Res) {
        let Stage::Sent(sent) = mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let latency = ControlLoop::<L>::since(&sent);
        match self.shared.classifier.response(&mut self.kept, response) {
            When::Now(verdict) => {
                if verdict.outcome.is_success() {
                    self.stage = Stage::Succeeded(sent);
                }
                let control = &self.shared.control;
                control.answer(&sent, latency, verdict, Some(latency));
            }
            When::AtEnd => self.stage = Stage::AtEnd(sent, latency),
        }
    }

    /// There will be no response, or no more of its body.
    pub(crate) fn fail(&mut self, error: &(dyn Error + 'static)) {
        let (sent, known) = match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Sent(sent) | Stage::AtEnd(sent, _) => (sent, false),
            Stage::Succeeded(sent) => (sent, true),
            Stage::New | Stage::Over => return,
        };
        // Nothing was sent: it is no answer of the service.
        if Refused::find(error).is_some() {
            return;
        }
        let verdict = self.shared.classifier.error(&mut self.kept, error);
        // A correction, not an answer: what says nothing corrects nothing.
        if !known || verdict.outcome != Outcome::Ignored {
            self.answer(&sent, verdict, None);
        }
    }

    /// No more of it will be seen.
    pub(crate) fn end(&mut self, trailers: Option<&HeaderMap>) {
        if let Stage::AtEnd(sent, latency) = mem::replace(&mut self.stage, Stage::Over) {
            let verdict = self.shared.classifier.end(&mut self.kept, trailers);
            self.answer(&sent, verdict, Some(latency));
        }
    }

    fn answer(&self, sent: &Sent, verdict: Verdict, latency: Option<Duration>) {
        let time = ControlLoop::<L>::since(sent);
        self.shared.control.answer(sent, time, verdict, latency);
    }
}

impl<Req, Res, C, L> Hook for Call<Req, Res, C, L>
where
    C: Classify<Req, Res>,
    L: Controller,
{
    #[inline]
    fn on_end(mut self, end: End<'_>) {
        match end {
            End::Complete(trailers) => self.end(trailers),
            End::Failed(_) => self.fail(end.error().unwrap_or(&BodyFailed)),
            End::Dropped => {}
        }
    }
}

impl<Req, Res, C, L> Drop for Call<Req, Res, C, L>
where
    C: Classify<Req, Res>,
    L: Controller,
{
    #[inline]
    fn drop(&mut self) {
        if let Stage::Sent(sent) | Stage::AtEnd(sent, _) = &self.stage {
            self.shared.control.give_up(sent);
        }
    }
}

impl<Req, Res, C, L> fmt::Debug for Call<Req, Res, C, L>
where
    C: Classify<Req, Res>,
    L: Controller,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// Stands for a body's error of a type that is not known here.
#[derive(Debug)]
struct BodyFailed;

impl fmt::Display for BodyFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body of the response failed")
    }
}

impl Error for BodyFailed {}
