use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use h2::Reason;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

use crate::arrived::Arrived;
use crate::body::Body;
use crate::damage::{Stop, Way};
use crate::frames::go_away;
use crate::link::{Ending, Io, Link, Then, Wire};
use crate::shared::{Phase, Shared};
use crate::turns::{Turn, Turns};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves one connection to its end, HTTP/1 or HTTP/2 as it begins.
///
/// No timer is set: an idle connection stays open, also while a paused clock leaps.
pub(crate) async fn serve(shared: Arc<Shared>, mut phase: watch::Receiver<Phase>, io: Box<dyn Io>) {
    let link = Arc::new(Link::new(io));
    let ending = {
        let mut talk = pin!(talk(&shared, &link, phase.clone()));
        loop {
            let ending = tokio::select! {
                biased;
                () = talk.as_mut() => return,
                ending = poll_fn(|cx| link.poll_ending(cx)) => ending,
            };
            if ending.then != Then::GoOn {
                break ending;
            }
            write_all(&link, &ending.bytes).await;
        }
    };
    let Some(io) = link.take() else { return };
    tokio::select! {
        biased;
        _ = phase.wait_for(|phase| *phase > Phase::Running) => {}
        // The client may be gone already.
        _ = end(io, ending) => {}
    }
}

/// As the protocols say.
async fn talk(shared: &Arc<Shared>, link: &Arc<Link>, mut phase: watch::Receiver<Phase>) {
    let server = server();
    let begun = AtomicBool::new(false);
    let turns = Arc::new(Turns::default());
    let answer = service_fn(|request| {
        begun.store(true, Ordering::Relaxed);
        let (turn, stream) = (turns.take(), link.next_stream());
        answer(Arc::clone(shared), Arc::clone(link), turn, stream, request)
    });
    let wire = TokioIo::new(Wire(Arc::clone(link)));
    let mut connection = pin!(server.serve_connection(wire, answer));
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

/// Requests arrive in the order of the connection, but each in its own task: so that whatever the
/// client has given up before on the same connection is gone by then.
async fn answer(
    shared: Arc<Shared>,
    link: Arc<Link>,
    mut turn: Turn,
    stream: Option<u32>,
    request: http::Request<Incoming>,
) -> Result<http::Response<Body>, BoxError> {
    (&mut turn).await;
    let way = Way::Http(request.version());
    let arrived = Arrived::new(&shared, request, way, link.is_gone_away());
    if let (Some((reason, processed)), Some(stream)) = (arrived.go_away(), stream) {
        // Those of clients are odd.
        let last = if processed {
            stream
        } else {
            stream.saturating_sub(2)
        };
        link.go_away(gone_away(last, reason));
    }
    drop(turn);
    match arrived.answer().await {
        Ok(mut response) => {
            response.body_mut().goes_to(&link);
            Ok(response)
        }
        Err(stop) => Err(no_answer(stop, &link, shared.subscribe()).await),
    }
}

fn gone_away(last: u32, reason: Reason) -> Ending {
    let then = match reason {
        Reason::NO_ERROR => Then::GoOn,
        _ => Then::HalfClose,
    };
    let bytes = go_away(last, reason);
    Ending { bytes, then }
}

/// Takes what the protocol is told, if anything.
async fn no_answer(stop: Stop, link: &Link, mut phase: watch::Receiver<Phase>) -> BoxError {
    match stop {
        Stop::Stream(reason) => return h2::Error::from(reason).into(),
        Stop::Unread(error) => return error.into(),
        Stop::Connection(ending) => link.end(ending),
        Stop::Silence => {}
    }
    let _ = phase.wait_for(|phase| *phase > Phase::Running).await;
    io::Error::from(io::ErrorKind::ConnectionReset).into()
}

async fn write_all(link: &Link, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match poll_fn(|cx| link.poll_write(cx, bytes)).await {
            Ok(written) if written > 0 => bytes = &bytes[written..],
            // The protocol will find out.
            _ => return,
        }
    }
}

async fn end(mut io: Box<dyn Io>, ending: Ending) -> io::Result<()> {
    io.write_all(&ending.bytes).await?;
    io.flush().await?;
    if ending.then == Then::Reset {
        io.reset_on_drop();
        return Ok(());
    }
    io.shutdown().await?;
    let mut unread = [0; 4096];
    while io.read(&mut unread).await? > 0 {}
    Ok(())
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
