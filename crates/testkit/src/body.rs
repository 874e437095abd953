use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::ledger::Departure;
use crate::link::{Ending, Link, Then};
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
    /// Since when what came before is being sent.
    sending: Option<u64>,
    visit: Option<Visit>,
    /// Its connection is about to end.
    cut: bool,
    /// The connection that it goes to; `None` without one.
    link: Option<Arc<Link>>,
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
            sending: None,
            visit,
            cut: false,
            link: None,
        };
        body.end_if_sent();
        body
    }

    pub(crate) fn goes_to(&mut self, link: &Arc<Link>) {
        self.link = Some(Arc::clone(link));
    }

    fn end(&mut self, how: Departure) {
        if let Some(visit) = self.visit.take() {
            visit.end(how);
        }
    }

    fn is_sent(&self) -> bool {
        !self.cut && self.steps.is_empty() && self.pause.is_none() && self.trailers.is_none()
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
                Some(last) => {
                    if let Some(link) = &self.link
                        && link.poll_sent(&mut self.sending, cx).is_pending()
                    {
                        self.steps.push_front(last);
                        return Poll::Pending;
                    }
                    return self.break_off(&last);
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

impl Body {
    fn break_off(&mut self, last: &Step) -> Poll<Option<io::Result<Bytes>>> {
        self.steps.clear();
        self.trailers = None;
        self.end(Departure::Aborted);
        let error = match (last, &self.link) {
            (Step::EndShort, Some(_)) => return Poll::Ready(None),
            (Step::Cut(then), Some(link)) => {
                let (bytes, then) = (Bytes::new(), *then);
                link.end(Ending { bytes, then });
                // The connection is about to drop it.
                self.cut = true;
                return Poll::Pending;
            }
            (Step::EndShort | Step::Cut(Then::HalfClose), None) => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::ConnectionReset,
        };
        Poll::Ready(Some(Err(error.into())))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.cut {
            return Poll::Pending;
        }
        let frame = match ready!(self.poll_steps(cx)) {
            Some(Ok(chunk)) => {
                let sent = chunk.len() as u64;
                self.length = self.length.map(|length| length - sent);
                Some(Ok(Frame::data(chunk)))
            }
            Some(Err(error)) => Some(Err(error)),
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
