use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tower_service::Service;

use crate::connection;
use crate::link::Io;
use crate::shared::Shared;

const BUFFER: usize = 64 * 1024;

/// Connects hyper-util's legacy client to an upstream in the same process, whatever the URI says.
///
/// HTTP/1, and HTTP/2 for a client built with `http2_only(true)`. No socket is involved, so a paused
/// clock moves only when all have to wait. A connection is served by a task of the runtime that
/// connects.
#[derive(Clone, Debug)]
pub struct Connector {
    shared: Arc<Shared>,
}

impl Connector {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn connect(&self) -> io::Result<TokioIo<InProcessStream>> {
        let phase = self.shared.connect()?;
        let (client, server) = tokio::io::duplex(BUFFER);
        let reset = Arc::new(AtomicBool::new(false));
        let [client, server] = [client, server].map(|stream| InProcessStream {
            stream,
            reset: Arc::clone(&reset),
        });
        let shared = Arc::clone(&self.shared);
        tokio::spawn(connection::serve(shared, phase, Box::new(server)));
        Ok(TokioIo::new(client))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<InProcessStream>;
    type Error = io::Error;
    type Future = Ready<io::Result<TokioIo<InProcessStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(self.connect())
    }
}

/// An end of a connection within the process.
#[derive(Debug)]
pub struct InProcessStream {
    stream: DuplexStream,
    /// The upstream's end was cut off rather than closed; both ends share it.
    reset: Arc<AtomicBool>,
}

impl InProcessStream {
    fn error_if_reset(&self) -> io::Result<()> {
        if self.reset.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl Io for InProcessStream {
    fn reset_on_drop(&self) {
        self.reset.store(true, Ordering::Release);
    }
}

impl Connection for InProcessStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for InProcessStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let is_end = buffer.filled().len() == before;
        Poll::Ready(if is_end {
            self.error_if_reset()
        } else {
            Ok(())
        })
    }
}

impl AsyncWrite for InProcessStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.error_if_reset()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
