use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::ledger::Departure;
use crate::response::Step;
use crate::visit::Visit;

/// The body of a response, as its script goes on.
///
/// The request is inside the upstream until the last frame is taken, or this is dropped.
#[derive(Debug)]
pub struct Body {
    steps: VecDeque<Step>,
    trailers: Option<HeaderMap>,
    /// Bytes left to send, where their number is announced.
    length: Option<u64>,
    pause: Option<Pin<Box<Sleep>>>,
    /// An abort has let the connection send what came before it.
    yielded: bool,
    visit: Option<Visit>,
}

impl Body {
    pub(crate) fn new(
        steps: VecDeque<Step>,
        length: Option<u64>,
        trailers: Option<HeaderMap>,
        visit: Option<Visit>,
    ) -> Self {
        let mut body = Self {
            steps,
            trailers,
            length,
            pause: None,
            yielded: false,
            visit,
        };
        body.end_if_sent();
        body
    }

    fn end(&mut self, how: Departure) {
        if let Some(visit) = self.visit.take() {
            visit.end(how);
        }
    }

    fn is_sent(&self) -> bool {
        self.steps.is_empty() && self.pause.is_none() && self.trailers.is_none()
    }

    /// Before the last frame goes out, so that no client that has it finds its request still inside.
    fn end_if_sent(&mut self) {
        if self.is_sent() {
            self.end(Departure::Served);
        }
    }

    fn poll_steps(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(cx));
                self.pause = None;
            }
            match self.steps.pop_front() {
                Some(Step::Chunk(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                Some(Step::Pause(pause)) if pause.is_zero() => {}
                Some(Step::Pause(pause)) => self.pause = Some(Box::pin(sleep(pause))),
                Some(Step::Abort) if self.yielded => {
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
                }
                Some(Step::Abort) => {
                    self.yielded = true;
                    self.steps.push_front(Step::Abort);
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = match ready!(self.poll_steps(cx)) {
            Some(Ok(chunk)) => {
                let sent = chunk.len() as u64;
                self.length = self.length.map(|length| length - sent);
                Some(Ok(Frame::data(chunk)))
            }
            Some(Err(error)) => {
                self.steps.clear();
                self.trailers = None;
                self.end(Departure::Aborted);
                Some(Err(error))
            }
            None => self
                .trailers
                .take()
                .map(|trailers| Ok(Frame::trailers(trailers))),
        };
        self.end_if_sent();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.is_sent()
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Body {
    /// A connection that has sent the announced length does not ask for the end.
    fn drop(&mut self) {
        if self.length == Some(0) {
            self.end(Departure::Served);
        }
    }
}
