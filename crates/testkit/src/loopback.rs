use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::link::Io;
use crate::shared::{Phase, Shared};
use crate::{connection, raise_descriptor_limit};

/// The most the system lets wait, so that ten thousand connects at once do not fail silently.
const BACKLOG: u32 = 65_535;

/// How long to leave a listener alone that cannot accept.
const RETRY: Duration = Duration::from_millis(10);

pub(crate) fn listen() -> io::Result<TcpListener> {
    // Where it may not be raised, running out is told when it happens.
    let _ = raise_descriptor_limit();
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    socket.listen(BACKLOG)
}

impl Io for TcpStream {
    fn reset_on_drop(&self) {
        // It fails only on a connection that is gone.
        let _ = self.set_zero_linger();
    }
}

/// Accepts until the upstream shuts down or stops.
pub(crate) async fn accept(
    shared: Arc<Shared>,
    mut phase: watch::Receiver<Phase>,
    listener: TcpListener,
) {
    loop {
        let accepted = tokio::select! {
            biased;
            _ = phase.wait_for(|phase| *phase > Phase::Running) => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // A client that is gone already is found out by the connection.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection::serve(
                    Arc::clone(&shared),
                    phase.clone(),
                    Box::new(stream),
                ));
            }
            Err(error) => {
                shared.accept_error(&error);
                sleep(RETRY).await;
            }
        }
    }
}
