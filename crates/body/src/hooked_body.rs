use std::fmt;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

use crate::armed::Armed;
use crate::{End, Hook};

/// A body that calls its [`Hook`] once: when it ends, fails or is dropped.
///
/// The hook is called as early as the end is known: a reader that knows the length never polls for
/// the `None` after the last frame, so a body that reports [`is_end_stream`](Body::is_end_stream)
/// has ended; so has one that gave its trailers. The body inside is dropped before the hook is
/// called with [`End::Dropped`], and everything else is the body inside, as it is.
#[pin_project]
pub struct HookedBody<B, H: Hook> {
    #[pin]
    body: B,
    // Below `body`, so that it drops after it.
    hook: Armed<H>,
}

impl<B: Body, H: Hook> HookedBody<B, H> {
    /// Puts the hook on the body; calls it at once if the body has ended.
    #[inline]
    pub fn new(body: B, hook: H) -> Self {
        let hook = Armed::on(&body, hook);
        Self { body, hook }
    }

    #[inline]
    pub(crate) fn armed(body: B, hook: Armed<H>) -> Self {
        Self { body, hook }
    }
}

impl<B, H> Body for HookedBody<B, H>
where
    B: Body,
    B::Error: 'static,
    H: Hook,
{
    type Data = B::Data;
    type Error = B::Error;

    #[inline]
    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        this.hook.poll();
        let next = ready!(this.body.as_mut().poll_frame(cx));
        match &next {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    each_chunk(data, |chunk| this.hook.data(chunk));
                }
                if let Some(trailers) = frame.trailers_ref() {
                    this.hook.fire(End::Complete(Some(trailers)));
                } else if this.body.is_end_stream() {
                    this.hook.fire(End::Complete(None));
                }
            }
            Some(Err(error)) => this.hook.fire(End::Failed(error)),
            None => this.hook.fire(End::Complete(None)),
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Without taking it out: nearly always one chunk.
#[inline]
fn each_chunk(data: &impl Buf, mut see: impl FnMut(&[u8])) {
    let first = data.chunk();
    if first.len() == data.remaining() {
        return see(first);
    }
    let mut chunks = [IoSlice::new(&[]); 64];
    let count = data.chunks_vectored(&mut chunks);
    chunks[..count].iter().for_each(|chunk| see(chunk));
}

impl<B: fmt::Debug, H: Hook> fmt::Debug for HookedBody<B, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookedBody")
            .field("body", &self.body)
            .field("ended", &self.hook.has_fired())
            .finish()
    }
}
