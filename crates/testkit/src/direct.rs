use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use crate::arrived::Arrived;
use crate::body::Body;
use crate::damage::{Stop, Way};
use crate::link::Then;
use crate::shared::{Phase, Shared};

/// The upstream itself as a service, without any HTTP between: the fastest way under a paused clock.
///
/// Always ready. A request arrives when the future is first polled.
#[derive(Clone, Debug)]
pub struct Direct {
    shared: Arc<Shared>,
}

impl Direct {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

impl<B> Service<http::Request<B>> for Direct
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = http::Response<Body>;
    type Error = io::Error;
    type Future = DirectFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> DirectFuture {
        let shared = Arc::clone(&self.shared);
        DirectFuture(Box::pin(async move {
            let mut phase = shared.connect()?;
            tokio::select! {
                biased;
                _ = phase.wait_for(|phase| *phase == Phase::Stopped) => {
                    Err(io::ErrorKind::ConnectionReset.into())
                }
                answer = answer(shared, request) => answer,
            }
        }))
    }
}

async fn answer<B>(
    shared: Arc<Shared>,
    request: http::Request<B>,
) -> io::Result<http::Response<Body>>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let arrived = Arrived::new(&shared, request, Way::Direct, false);
    Err(match arrived.answer().await {
        Ok(response) => return Ok(response),
        Err(Stop::Unread(error)) => error,
        Err(Stop::Connection(ending)) if ending.then == Then::HalfClose => {
            io::ErrorKind::UnexpectedEof.into()
        }
        Err(Stop::Connection(_) | Stop::Stream(_)) => io::ErrorKind::ConnectionReset.into(),
        Err(Stop::Silence) => {
            let mut phase = shared.subscribe();
            let _ = phase.wait_for(|phase| *phase > Phase::Running).await;
            io::ErrorKind::ConnectionReset.into()
        }
    })
}

/// A request inside the upstream, until its response.
pub struct DirectFuture(Pin<Box<dyn Future<Output = io::Result<http::Response<Body>>> + Send>>);

impl Future for DirectFuture {
    type Output = io::Result<http::Response<Body>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for DirectFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectFuture").finish_non_exhaustive()
    }
}
