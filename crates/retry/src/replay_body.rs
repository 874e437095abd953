use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::{error, fmt};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tidegate_core::BoxError;

use crate::RetryBody;

/// A request's body that is kept while it is read, so that it can be sent again.
///
/// Up to `max_bytes` are kept, and only while another attempt may follow. A body that turns out longer
/// is sent exactly once: it goes on, and what was kept is freed. With 0 that is every body that is not
/// empty.
///
/// The second attempt reads what was kept and then the rest of the stream; the first, if it is still
/// being written somewhere, fails from then on.
pub struct ReplayBody<B> {
    source: Arc<Mutex<Source<B>>>,
    /// The one with the highest number that was polled may read.
    number: u64,
    /// How many frames it has read of those that are kept.
    read: usize,
}

struct Source<B> {
    body: Pin<Box<B>>,
    kept: Vec<Kept>,
    bytes: usize,
    max_bytes: usize,
    /// Who reads.
    reader: u64,
    ended: bool,
    /// Something was read that was not kept.
    lost: bool,
}

enum Kept {
    Data(Bytes),
    Trailers(HeaderMap),
}

/// A later attempt has begun to read the same body.
#[derive(Debug)]
struct Superseded;

impl<B: Body> ReplayBody<B> {
    /// Keeps up to `max_bytes`.
    pub fn new(body: B, max_bytes: usize) -> Self {
        let source = Source {
            body: Box::pin(body),
            kept: Vec::new(),
            bytes: 0,
            max_bytes,
            reader: 0,
            ended: false,
            lost: false,
        };
        Self {
            source: Arc::new(Mutex::new(source)),
            number: 0,
            read: 0,
        }
    }
}

impl<B> ReplayBody<B> {
    /// A body that panicked is one that failed: its poison says no more.
    fn source(&self) -> MutexGuard<'_, Source<B>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> RetryBody for ReplayBody<B> {
    fn try_clone(&self) -> Option<Self> {
        self.is_whole().then(|| Self {
            source: Arc::clone(&self.source),
            number: self.number + 1,
            read: 0,
        })
    }

    fn is_whole(&self) -> bool {
        !self.source().lost
    }
}

impl<B: Body> Source<B> {
    /// The next frame that was not read before.
    fn poll_next(
        &mut self,
        keep: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = match ready!(self.body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => frame.map_data(|mut data| data.copy_to_bytes(data.remaining())),
            Some(Err(error)) => {
                self.lose();
                return Poll::Ready(Some(Err(error)));
            }
            None => {
                self.ended = true;
                return Poll::Ready(None);
            }
        };
        match Kept::of(&frame) {
            Some(kept) if keep && !self.lost && kept.len() <= self.max_bytes - self.bytes => {
                self.bytes += kept.len();
                self.kept.push(kept);
            }
            _ => self.lose(),
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn lose(&mut self) {
        self.lost = true;
        self.kept = Vec::new();
    }
}

impl Kept {
    fn of(frame: &Frame<Bytes>) -> Option<Self> {
        let data = frame.data_ref().cloned().map(Self::Data);
        data.or_else(|| frame.trailers_ref().cloned().map(Self::Trailers))
    }

    fn frame(&self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data.clone()),
            Self::Trailers(trailers) => Frame::trailers(trailers.clone()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Trailers(_) => 0,
        }
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let keep = Arc::strong_count(&self.source) > 1;
        let mut source = self.source();
        if source.reader > self.number {
            return Poll::Ready(Some(Err(Superseded.into())));
        }
        source.reader = self.number;
        let (frame, read) = if let Some(kept) = source.kept.get(self.read) {
            (Some(Ok(kept.frame())), self.read + 1)
        } else {
            let next = ready!(source.poll_next(keep, cx));
            let next = next.map(|frame| frame.map_err(Into::into));
            (next, source.kept.len())
        };
        drop(source);
        self.read = read;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let source = self.source();
        self.read >= source.kept.len() && (source.ended || source.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let source = self.source();
        let unread = source.kept.iter().skip(self.read).map(Kept::len);
        let unread = unread.sum::<usize>() as u64;
        let rest = source.body.size_hint();
        let mut hint = SizeHint::new();
        // The upper end first: it may not be below the lower one.
        if let Some(upper) = rest.upper() {
            hint.set_upper(unread.saturating_add(upper));
        }
        hint.set_lower(unread.saturating_add(rest.lower()));
        hint
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayBody").finish_non_exhaustive()
    }
}

impl fmt::Display for Superseded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a later attempt reads this body now")
    }
}

impl error::Error for Superseded {}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use http_body_util::BodyExt;

    use super::*;

    /// A stream of chunks, with a trailer at its end.
    struct Chunks(VecDeque<Frame<Bytes>>);

    impl Body for Chunks {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(Ok))
        }
    }

    fn body(max_bytes: usize) -> ReplayBody<Chunks> {
        let data = ["one ", "two ", "three"].map(|chunk| Frame::data(chunk.into()));
        let trailers = HeaderMap::from_iter([(http::header::ETAG, "tide".parse().unwrap())]);
        let frames = data.into_iter().chain([Frame::trailers(trailers)]);
        ReplayBody::new(Chunks(frames.collect()), max_bytes)
    }

    async fn read(body: ReplayBody<Chunks>) -> Option<(Bytes, bool)> {
        let read = body.collect().await.ok()?;
        let has_trailer = read.trailers().is_some_and(|trailers| trailers.len() == 1);
        Some((read.to_bytes(), has_trailer))
    }

    async fn assert_all(body: ReplayBody<Chunks>) {
        let expected = Some(("one two three".into(), true));
        assert_eq!(read(body).await, expected);
    }

    #[tokio::test]
    async fn it_is_the_same_each_time() {
        let first = body(13);
        let second = first.try_clone().unwrap();
        assert_all(first).await;
        let third = second.try_clone().unwrap();
        assert_all(second).await;
        assert_eq!(third.size_hint().lower(), 13);
        assert_all(third).await;
    }

    #[tokio::test]
    async fn after_one_that_was_given_up_half_way_the_next_reads_all() {
        let mut first = body(13);
        let second = first.try_clone().unwrap();
        first.frame().await.unwrap().unwrap();
        assert_all(second).await;
        assert!(first.frame().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn one_that_is_too_long_is_sent_once() {
        for max_bytes in [0, 3, 12] {
            let first = body(max_bytes);
            let second = first.try_clone().unwrap();
            assert_all(first).await;
            assert!(!second.is_whole() && second.try_clone().is_none());
        }
    }

    #[tokio::test]
    async fn nothing_is_kept_for_nobody() {
        let mut only = body(13);
        only.frame().await.unwrap().unwrap();
        assert!(!only.is_whole());
        assert_eq!(read(only).await, Some(("two three".into(), true)));
    }

    #[tokio::test]
    async fn one_without_a_byte_can_always_be_sent_again() {
        let first = ReplayBody::new(Chunks(VecDeque::new()), 0);
        let second = first.try_clone().unwrap();
        assert_eq!(read(first).await, Some((Bytes::new(), false)));
        assert!(second.is_whole());
    }
}
