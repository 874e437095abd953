use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::shared::{Phase, Shared};

/// Serves one connection to its end, HTTP/1 or HTTP/2 as it begins.
///
/// No timer is set: an idle connection stays open, also while a paused clock leaps.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    mut phase: watch::Receiver<Phase>,
    io: impl AsyncRead + AsyncWrite + Unpin + 'static,
) {
    let server = server();
    let begun = AtomicBool::new(false);
    let answer = service_fn(|request| {
        begun.store(true, Ordering::Relaxed);
        Arc::clone(&shared).answer(request)
    });
    let mut connection = pin!(server.serve_connection(TokioIo::new(io), answer));
    loop {
        tokio::select! {
            biased;
            _ = connection.as_mut() => return,
            _ = phase.wait_for(|phase| *phase > Phase::Running) => break,
            // Not one that waits for its first request: its client would take that for a failure.
            () = shared.room_wanted() => if begun.load(Ordering::Relaxed) { break },
        }
    }
    connection.as_mut().graceful_shutdown();
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
        // The only limits are the model's: not how many streams there are, not how many are reset.
        .max_concurrent_streams(None)
        .max_pending_accept_reset_streams(usize::MAX);
    server
}
