use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use tidegate_body::{End, Hook};
use tidegate_classify::{Classify, Verdict, When, errors};
use tidegate_core::{Controller, Outcome, Refused, saturating_nanos};

use crate::control_loop::{ControlLoop, Sent, now};

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
    /// Once it was sent.
    sent: Option<Sent>,
    /// Of its head, in nanoseconds: half the size of a `Duration`, since each response carries one.
    latency: u64,
    stage: Stage,
    types: PhantomData<fn(&Req) -> Res>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// There is no response yet.
    Open,
    /// The end of the body tells its outcome.
    AtEnd,
    /// Its head was a success; its body may fail.
    Succeeded,
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
            sent: None,
            latency: 0,
            stage: Stage::Open,
            types: PhantomData,
        }
    }

    /// The request goes out, unless it has.
    #[inline]
    pub(crate) fn send(&mut self) {
        if self.sent.is_none() {
            self.sent = Some(self.shared.control.send());
        }
    }

    /// The head of the response is there.
    #[inline]
    pub(crate) fn respond(&mut self, response: &Res) {
        let Some(sent) = &self.sent else { return };
        let now = now();
        let latency = sent.until(now);
        match self.shared.classifier.response(&mut self.kept, response) {
            When::Now(verdict) => {
                self.stage = match verdict.outcome {
                    Outcome::Success => Stage::Succeeded,
                    _ => Stage::Over,
                };
                let control = &self.shared.control;
                control.answer(sent, (now, latency), verdict, Some(latency));
            }
            When::AtEnd => {
                self.latency = saturating_nanos(latency);
                self.stage = Stage::AtEnd;
            }
        }
    }

    /// There will be no response, or no more of its body.
    pub(crate) fn fail(&mut self, error: &(dyn Error + 'static)) {
        // A refusal of ours: nothing was sent, and it is no answer of the service.
        if self.stage == Stage::Over || Refused::find(error).is_some() {
            self.stage = Stage::Over;
            return;
        }
        // Before it is over: if the classifier panics, its caller gave up.
        let verdict = self.shared.classifier.error(&mut self.kept, error);
        let before = mem::replace(&mut self.stage, Stage::Over);
        // A correction that says nothing corrects nothing.
        if before != Stage::Succeeded || verdict.outcome != Outcome::Ignored {
            self.answer(verdict, None);
        }
    }

    /// No more of it will be seen.
    pub(crate) fn end(&mut self, trailers: Option<&HeaderMap>) {
        if self.stage == Stage::AtEnd {
            let verdict = self.shared.classifier.end(&mut self.kept, trailers);
            self.stage = Stage::Over;
            self.answer(verdict, Some(Duration::from_nanos(self.latency)));
        }
        self.stage = Stage::Over;
    }

    fn answer(&self, verdict: Verdict, latency: Option<Duration>) {
        if let Some(sent) = &self.sent {
            let now = now();
            let moment = (now, sent.until(now));
            self.shared.control.answer(sent, moment, verdict, latency);
        }
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
            End::Failed(error) => {
                let known = end.error().or_else(|| errors::known(error));
                self.fail(known.unwrap_or(&BodyFailed));
            }
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
        if let (Some(sent), Stage::Open | Stage::AtEnd) = (&self.sent, self.stage) {
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
