use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

/// A body some of whose frames have been read: gives them again, then the others.
#[pin_project]
pub struct PeekedBody<B: Body> {
    read: VecDeque<Result<Frame<B::Data>, B::Error>>,
    /// Bytes in `read`.
    ahead: u64,
    ended: bool,
    #[pin]
    body: B,
}

impl<B: Body<Data = Bytes>> PeekedBody<B> {
    pub(crate) fn new(body: B) -> Self {
        Self {
            read: VecDeque::new(),
            ahead: 0,
            ended: false,
            body,
        }
    }

    /// Reads on until `most` bytes are there, or there are no more.
    pub(crate) fn poll_read(
        mut self: Pin<&mut Self>,
        most: usize,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let mut this = self.as_mut().project();
        while !*this.ended && *this.ahead < most as u64 {
            match ready!(this.body.as_mut().poll_frame(context)) {
                None => *this.ended = true,
                Some(frame) => {
                    match &frame {
                        Ok(frame) => {
                            *this.ahead += frame.data_ref().map_or(0, |data| data.len() as u64);
                            *this.ended = frame.is_trailers();
                        }
                        Err(_) => *this.ended = true,
                    }
                    this.read.push_back(frame);
                }
            }
        }
        Poll::Ready(())
    }

    /// The first bytes, at most `most`. Copies only where they came in more than one frame.
    pub(crate) fn first(&self, most: usize) -> Bytes {
        let frames = self.read.iter().flatten();
        let mut chunks = frames
            .filter_map(Frame::data_ref)
            .filter(|data| !data.is_empty());
        let Some(first) = chunks.next() else {
            return Bytes::new();
        };
        let mut first = first.clone();
        if first.len() < most
            && let Some(second) = chunks.next()
        {
            let mut all = BytesMut::from(first);
            all.extend_from_slice(second);
            chunks.for_each(|data| all.extend_from_slice(data));
            first = all.freeze();
        }
        first.truncate(most);
        first
    }
}

impl<B: Body<Data = Bytes>> Body for PeekedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if let Some(frame) = this.read.pop_front() {
            let bytes = frame
                .as_ref()
                .ok()
                .and_then(Frame::data_ref)
                .map_or(0, Bytes::len);
            *this.ahead -= bytes as u64;
            return Poll::Ready(Some(frame));
        }
        if *this.ended {
            return Poll::Ready(None);
        }
        this.body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && (self.ended || self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.body.size_hint();
        if self.ended {
            return SizeHint::with_exact(self.ahead);
        }
        // The upper one first, since the lower one may not be above it.
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(self.ahead));
        }
        hint.set_lower(hint.lower().saturating_add(self.ahead));
        hint
    }
}

impl<B: Body + fmt::Debug> fmt::Debug for PeekedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeekedBody")
            .field("ahead", &self.ahead)
            .field("ended", &self.ended)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}
