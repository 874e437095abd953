use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::Body;
use pin_project::pin_project;

/// Up to this size reading on is cheaper than another connection.
pub(crate) const LARGEST: usize = 64 * 1024;

/// Reads the rest of a body that nobody wants, so that its connection can be used again.
#[pin_project]
#[derive(Debug)]
pub(crate) struct Drain<B> {
    #[pin]
    body: B,
    read: BytesMut,
    /// So that a body of empty frames has an end too.
    frames: usize,
}

impl<B: Body> Drain<B> {
    /// `None` if the body is known to be too large.
    pub(crate) fn new(body: B) -> Option<Self> {
        let is_small = body.size_hint().lower() <= LARGEST as u64;
        is_small.then_some(Self {
            body,
            read: BytesMut::new(),
            frames: 0,
        })
    }

    /// What was read so far.
    pub(crate) fn take(self: Pin<&mut Self>) -> Bytes {
        std::mem::take(self.project().read).freeze()
    }

    /// Ready at the end, at an error, or when it has turned out to be too large.
    pub(crate) fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            if this.body.is_end_stream() {
                return Poll::Ready(());
            }
            let Some(Ok(frame)) = ready!(this.body.as_mut().poll_frame(cx)) else {
                return Poll::Ready(());
            };
            *this.frames += 1;
            if let Ok(data) = frame.into_data() {
                if this.read.len() + data.remaining() > LARGEST {
                    return Poll::Ready(());
                }
                this.read.put(data);
            }
            if *this.frames > LARGEST {
                return Poll::Ready(());
            }
        }
    }
}
