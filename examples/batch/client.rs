use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use reqwest::{Client, Request, Response};
use tidegate_testkit::Exhausted;
use tower::Service;

use crate::clock::now;

/// From the send to the end of the body.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(10);

/// A client that counts what it sends, and whose responses know when their request was sent.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    client: Client,
    sends: Arc<Mutex<Sends>>,
}

/// What was sent, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Sends {
    pub(crate) sent: usize,
    /// How many found nothing left of what this machine sends with.
    pub(crate) exhausted: HashMap<Exhausted, usize>,
}

/// Of a response: when its request was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentAt(pub(crate) Instant);

impl Timed {
    /// For URLs out there, or for the embedded upstream, which is behind no proxy.
    pub(crate) fn new(out_there: bool) -> reqwest::Result<Self> {
        let mut client = Client::builder()
            .timeout(TIMEOUT)
            .pool_idle_timeout(IDLE)
            .user_agent(concat!("tidegate-batch/", env!("CARGO_PKG_VERSION")));
        if !out_there {
            client = client.no_proxy().tls_certs_only([]);
        }
        Ok(Self {
            client: client.build()?,
            sends: Arc::default(),
        })
    }

    pub(crate) fn sends(&self) -> MutexGuard<'_, Sends> {
        self.sends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, answer: &reqwest::Result<Response>) {
        let mut sends = self.sends();
        match answer
            .as_ref()
            .err()
            .and_then(|error| Exhausted::find(error))
        {
            Some(what) => *sends.exhausted.entry(what).or_default() += 1,
            None => sends.sent += 1,
        }
    }
}

impl Service<Request> for Timed {
    type Response = Response;
    type Error = reqwest::Error;
    type Future = Pin<Box<dyn Future<Output = reqwest::Result<Response>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<reqwest::Result<()>> {
        Service::<Request>::poll_ready(&mut self.client, cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let sent = SentAt(now());
        let answer = self.client.call(request);
        let counted = self.clone();
        Box::pin(async move {
            let mut answer = answer.await;
            counted.count(&answer);
            if let Ok(response) = &mut answer {
                response.extensions_mut().insert(sent);
            }
            answer
        })
    }
}
