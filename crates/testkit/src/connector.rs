use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tower_service::Service;

use crate::connection;
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
        tokio::spawn(connection::serve(Arc::clone(&self.shared), phase, server));
        Ok(TokioIo::new(InProcessStream(client)))
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

/// The client's end of a connection within the process.
#[derive(Debug)]
pub struct InProcessStream(DuplexStream);

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
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for InProcessStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
