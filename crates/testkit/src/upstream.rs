use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{panic, thread};

use tokio::runtime;

use crate::shared::{Phase, Shared};
use crate::{Arrival, Connector, Direct, Exhausted, Report, UpstreamBuilder, loopback, most_in};

/// A running upstream. Dropping it stops it: connections are cut, later ones refused.
///
/// A request is *inside* from its arrival, when it waits in the queue or goes to a worker at once,
/// until its response's last frame has been handed to the connection, or its client has left. A
/// worker is busy with it until then too, bodies that take their time included. A refused request is
/// never inside.
#[derive(Debug)]
pub struct Upstream {
    shared: Arc<Shared>,
    uri: String,
}

impl Upstream {
    /// With so many workers.
    ///
    /// # Panics
    ///
    /// If `workers` is 0.
    #[track_caller]
    pub fn workers(workers: usize) -> UpstreamBuilder {
        assert!(workers > 0, "an upstream has at least one worker");
        UpstreamBuilder::new(workers)
    }

    /// With as many workers as requests come.
    pub fn unlimited() -> UpstreamBuilder {
        UpstreamBuilder::new(usize::MAX)
    }

    /// Where it listens, such as `http://127.0.0.1:41234`, without a slash at its end. In process a
    /// name that does not resolve.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// For hyper-util's legacy client, without a socket.
    pub fn connector(&self) -> Connector {
        Connector::new(Arc::clone(&self.shared))
    }

    /// Itself as a service, without a client.
    pub fn direct(&self) -> Direct {
        Direct::new(Arc::clone(&self.shared))
    }

    /// Multiplies its workers, rounded, at least one; requests in service are not disturbed. At 0 (or
    /// below, or not a number) it is an outage: whoever waits or comes is refused. At the start 1.
    pub fn set_capacity(&self, capacity: f64) {
        self.shared.set_capacity(capacity);
    }

    /// Another [rate](UpstreamBuilder::rate) from now on. The burst stays, and as many tokens are
    /// missing as before; where there was no rate, the burst is 1.
    pub fn set_rate(&self, per_second: f64) {
        self.shared.set_rate(per_second);
    }

    /// Another share of [failures](UpstreamBuilder::fail) among requests that arrive from now on.
    /// Below 0, or not a number, is none, and above 1 is all.
    pub fn set_failing(&self, share: f64) {
        self.shared.model().background.set_failing(share);
    }

    /// Adds this to the service time of requests that arrive from now on. A worker is busy
    /// meanwhile: with [`unlimited`](Self::unlimited) workers it is a longer way. At the start 0.
    pub fn set_latency(&self, latency: Duration) {
        self.shared.model().latency = latency;
    }

    /// A silent outage: connections are accepted, and no request is answered. One that arrives now is
    /// never answered, nor executed; one that is being executed keeps its worker to its end, and then
    /// is not answered either. Bodies whose heads were sent go on.
    ///
    /// For a loud outage, [`set_capacity(0.0)`](Self::set_capacity).
    pub fn go_silent(&self) {
        self.shared.model().silent = true;
    }

    /// Ends the [silence](Self::go_silent), for requests that arrive or are due from now on.
    pub fn speak(&self) {
        self.shared.model().silent = false;
    }

    /// How many requests are inside now, in the queue or at a worker.
    pub fn in_flight(&self) -> usize {
        self.shared.model().station.in_flight()
    }

    /// The most requests that were inside at once.
    pub fn peak_in_flight(&self) -> usize {
        self.shared.model().station.peak()
    }

    /// What it saw so far.
    pub fn report(&self) -> Report {
        let model = self.shared.model();
        model
            .ledger
            .report(model.station.in_flight(), model.station.peak())
    }

    /// The log: the first arrivals in their order, as many as it has room for.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.shared.model().ledger.arrivals().to_vec()
    }

    /// The most logged arrivals `a` with `a.at` in any `[t, t + window)`. See [`most_in`] for those of a key,
    /// and for executions.
    pub fn most_arrivals_in(&self, window: Duration) -> usize {
        let model = self.shared.model();
        most_in(
            window,
            model.ledger.arrivals().iter().map(|arrival| arrival.at),
        )
    }

    /// Accepts nobody any more, answers what is inside and closes the connections; returns when all
    /// that is done. Its reports can still be read.
    ///
    /// A body that nobody reads keeps it waiting.
    pub async fn shutdown(&self) {
        self.shared.go_to(Phase::Draining);
        self.shared.closed().await;
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.shared.go_to(Phase::Stopped);
    }
}

impl UpstreamBuilder {
    /// Starts it on a port of 127.0.0.1, in this runtime. Raises the soft limit of descriptors of
    /// this process: see [`raise_descriptor_limit`](crate::raise_descriptor_limit). Out of descriptors
    /// it closes idle connections, goes on accepting, and says so in its [`Report`].
    ///
    /// # Panics
    ///
    /// If it cannot listen, or outside a runtime.
    #[expect(
        clippy::unused_async,
        reason = "so that it cannot be called outside a runtime"
    )]
    pub async fn start(self) -> Upstream {
        let listener = loopback::listen().unwrap_or_else(|error| cannot_listen(&error));
        let address = listener.local_addr().expect("it is bound");
        let shared = self.open();
        let phase = shared.subscribe();
        tokio::spawn(loopback::accept(Arc::clone(&shared), phase, listener));
        Upstream {
            shared,
            uri: format!("http://{address}"),
        }
    }

    /// Starts it on a port of 127.0.0.1, in a runtime and a thread of its own, so that what it does
    /// costs the caller's runtime nothing and a paused clock there does not stop it.
    ///
    /// # Panics
    ///
    /// If it cannot listen, or the thread or its runtime cannot be made.
    pub fn start_on_thread(self) -> Upstream {
        let (tell, told) = mpsc::channel();
        let serve = move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let upstream = self.start().await;
                let shared = Arc::clone(&upstream.shared);
                if tell.send(upstream).is_ok() {
                    shared.closed().await;
                }
            });
        };
        let thread = thread::Builder::new()
            .name("upstream".into())
            .spawn(serve)
            .expect("a thread");
        told.recv().unwrap_or_else(|_| match thread.join() {
            Err(panic) => panic::resume_unwind(panic),
            Ok(()) => unreachable!("it ends only after it has told"),
        })
    }

    /// Starts it without listening: requests come through [`Upstream::connector`] and
    /// [`Upstream::direct`]. For tests under a paused clock.
    pub fn start_in_process(self) -> Upstream {
        Upstream {
            shared: self.open(),
            uri: "http://upstream.test".into(),
        }
    }
}

fn cannot_listen(error: &io::Error) -> ! {
    match Exhausted::find(error) {
        Some(exhausted) => panic!("cannot listen on 127.0.0.1: {exhausted}"),
        None => panic!("cannot listen on 127.0.0.1: {error}"),
    }
}
