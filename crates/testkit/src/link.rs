use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::{fmt, mem};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::frames::Frames;

/// The upstream's end of a connection.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {
    /// The client is to see an error when this is dropped, rather than an end.
    fn reset_on_drop(&self);
}

/// What is done to a connection behind the back of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Sent as they are, after all that the protocol has sent.
    pub(crate) bytes: Bytes,
    pub(crate) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    HalfClose,
    Reset,
}

/// Stands between a connection's protocol and its bytes, so that it can be ended in ways that the
/// protocol does not know.
pub(crate) struct Link(Mutex<State>);

struct State {
    /// `None` once it was taken from the protocol.
    io: Option<Box<dyn Io>>,
    /// The protocol has written no part of a frame, nor anything that is not yet out.
    flushed: bool,
    /// How often the protocol came to rest with all of its output out.
    rests: u64,
    frames: Frames,
    /// Streams whose requests the protocol has not handed over yet.
    opened: VecDeque<u32>,
    gone_away: bool,
    endings: VecDeque<Ending>,
    connection: Waker,
    flushing: Vec<Waker>,
}

impl Link {
    pub(crate) fn new(io: Box<dyn Io>) -> Self {
        Self(Mutex::new(State {
            io: Some(io),
            flushed: true,
            rests: 0,
            frames: Frames::default(),
            opened: VecDeque::new(),
            gone_away: false,
            endings: VecDeque::new(),
            connection: Waker::noop().clone(),
            flushing: Vec::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the stream of the request that the protocol hands over; requests come in the
    /// order of their streams. After a malformed one, which is not handed over, it is one of the
    /// streams before.
    pub(crate) fn next_stream(&self) -> Option<u32> {
        self.state().opened.pop_front()
    }

    /// Whether the client was told that later requests are not processed.
    pub(crate) fn is_gone_away(&self) -> bool {
        self.state().gone_away
    }

    pub(crate) fn go_away(&self, ending: Ending) {
        self.state().gone_away = true;
        self.end(ending);
    }

    pub(crate) fn end(&self, ending: Ending) {
        let connection = {
            let mut state = self.state();
            state.endings.push_back(ending);
            state.connection.clone()
        };
        connection.wake();
    }

    /// To be polled after the connection's protocol, by the same task.
    pub(crate) fn poll_ending(&self, cx: &mut Context<'_>) -> Poll<Ending> {
        let (flushing, ending) = {
            let mut state = self.state();
            state.connection.clone_from(cx.waker());
            let mut flushing = Vec::new();
            if state.flushed {
                state.rests += 1;
                flushing = mem::take(&mut state.flushing);
            }
            // A client that does not read can still be reset, but not be told more.
            let flushed = state.flushed;
            let is_due = |ending: &Ending| flushed || ending.then != Then::GoOn;
            let due = state.endings.front().is_some_and(is_due);
            (flushing, due.then(|| state.endings.pop_front()).flatten())
        };
        flushing.into_iter().for_each(Waker::wake);
        ending.map_or(Poll::Pending, Poll::Ready)
    }

    /// When all that was handed to the protocol before the first call has been sent, as far as the
    /// client takes it. `since` is `None` at first. The protocol may have been about to rest then, so
    /// that the first rest says nothing.
    pub(crate) fn poll_sent(&self, since: &mut Option<u64>, cx: &mut Context<'_>) -> Poll<()> {
        let connection = {
            let mut state = self.state();
            let first = *since.get_or_insert(state.rests);
            if state.rests > first + 1 {
                return Poll::Ready(());
            }
            state.flushing.push(cx.waker().clone());
            state.connection.clone()
        };
        connection.wake();
        Poll::Pending
    }

    /// Takes the bytes from the protocol, which then finds the connection closed.
    pub(crate) fn take(&self) -> Option<Box<dyn Io>> {
        self.state().io.take()
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.state().with(|io| io.poll_write(cx, bytes))
    }
}

impl State {
    fn with<T>(
        &mut self,
        poll: impl FnOnce(Pin<&mut dyn Io>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.io {
            Some(io) => poll(Pin::new(&mut **io)),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// What the protocol holds for the connection's bytes.
#[derive(Debug)]
pub(crate) struct Wire(pub(crate) Arc<Link>);

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        let before = buffer.filled().len();
        let read = state.with(|io| io.poll_read(cx, buffer));
        let State { frames, opened, .. } = &mut *state;
        frames.read(&buffer.filled()[before..], |stream| {
            opened.push_back(stream);
        });
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        state.flushed = false;
        state.with(|io| io.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        state.flushed = false;
        state.with(|io| io.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        let state = self.0.state();
        state.io.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        let flushed = state.with(|io| io.poll_flush(cx));
        state.flushed |= matches!(flushed, Poll::Ready(Ok(())));
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.state().with(|io| io.poll_shutdown(cx))
    }
}
