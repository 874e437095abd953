use std::pin::pin;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::shared::{Phase, Shared};

/// Serves one connection to its end, HTTP/1 or HTTP/2 as it begins.
///
/// No timer is set: an idle connection stays open, also while a paused clock leaps.
pub(crate) async fn serve(shared: Arc<Shared>, io: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    let mut phase = shared.subscribe();
    let server = server();
    let answer = service_fn(move |request| Arc::clone(&shared).answer(request));
    let mut connection = pin!(server.serve_connection(TokioIo::new(io), answer));
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        _ = phase.wait_for(|phase| *phase > Phase::Running) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        biased;
        _ = phase.wait_for(|phase| *phase == Phase::Stopped) => {}
        _ = connection => {}
    }
}

fn server() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http2()
        // The upstream's limits are the model's: neither streams nor how many of them are reset.
        .max_concurrent_streams(None)
        .max_pending_accept_reset_streams(usize::MAX)
        .max_local_error_reset_streams(None);
    server
}
